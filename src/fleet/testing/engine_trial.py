"""Try an engine: dispatch its real program in a temporary home, and tell it to commit, to log and to report.

The trial says which of the three arrived. The program gets nothing of the person's: no account, no settings, no
network.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fleet import errors
from fleet.api.fleet import Fleet
from fleet.api.remote import lifecycle
from fleet.model import FLEET_HOME
from fleet.model.branches import INTEGRATION, head_ref, task_ref
from fleet.model.results.engines import Trial
from fleet.model.settings.setting_names import HOME_FILE
from fleet.testing.scene import make_repository
from fleet.testing.stub_model import DIALECTS, StubModel
from fleet.world.files.locks import FileLock
from fleet.world.home import paths
from fleet.world.process import ps
from fleet.world.world import fleet_program

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from fleet.engines.reader import Check, Engine
    from fleet.model.states import TrialVerdict
    from fleet.world.process.programs import Programs

PROJECT, TASK, LOGGED, MESSAGE = "trial", "proof", "from inside", "Prove it"
# What the agent is told to do: as commands for a shell, and as a script for the scripted agent.
COMMANDS = ("git mv README.md proof.md", f'git commit --message "{MESSAGE}"', f'fleet log "{LOGGED}"', "fleet done")
SCRIPT = f"write proof.md proof\ncommit {MESSAGE}\nlog {LOGGED}\ndone\n"
# Seconds: for the agent, between two looks at it, for `fleet dispatch`, and for each thing that has to end at last.
PATIENCE = 120.0
_BETWEEN_LOOKS = 0.1
_LIMIT = 120.0
_PATIENCE_AT_THE_END = 30.0
_NOWHERE = "http://127.0.0.1:9"
# The variables that the program gets from the environment of this process.
_KEPT = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TERM", "TZ", "TMPDIR", "USER", "LOGNAME", "SHELL")
# Requests that leave loopback go to a proxy that does not exist.
_SEALED = {"HTTP_PROXY": _NOWHERE, "HTTPS_PROXY": _NOWHERE, "NO_PROXY": "127.0.0.1,localhost"}
_TMUX_NOTICE = "Pane is dead"
# The states of an agent that cannot go on by itself, besides "asks".
_STUCK = ("dialog", "limit", "login", "failed_turn")


def try_out(
    engine: Engine, autonomy: str | None, root: str, *, sandbox: str | None = None, patience: float = PATIENCE
) -> Trial:
    """Try an engine in the folder `root`, which is removed afterwards; return what the trial showed.

    `autonomy` is None for an engine without autonomy levels, `sandbox` is None for no sandbox. `patience` is how many
    seconds the agent may take. An engine whose file has no [check] is not started: its verdict is "unproven".

    Raise FleetError when `fleet dispatch` gave no answer, and Refused when something of the trial could not be ended.
    """
    if engine.check is None:
        return Trial(autonomy=autonomy, sandbox=sandbox, verdict="unproven", detail="its file has no [check]")
    clear(root)
    try:
        with _stub_model(engine.check) as stub:
            return _Trial(engine, engine.check, autonomy, root, stub, sandbox).run(patience)
    finally:
        clear(root)


def clear(root: str) -> None:
    """End all processes that a trial in this folder left, even a trial that was killed, and remove the folder.

    Do nothing if there is no such folder. If a process has not ended after 30 seconds, raise Refused; the folder stays.
    """
    home = f"{root}/home"
    if os.path.isdir(home):
        with Fleet.open(home, actor="trial") as fleet:
            _wait_for(fleet, lambda: _lock_of_dispatch(root).is_free(), f"the dispatch in {home} still runs")
            _wait_for(fleet, lambda: _end_agents(fleet), f"an agent of the trial in {home} could not be ended")
            fleet.sweep.run(kill=True)
            fleet.world.tmux.stop_empty_server()
            if lifecycle.status(fleet).running:
                lifecycle.stop(fleet)
            _wait_for(fleet, lambda: not _other_processes(home), f"a process of the trial in {home} still runs")
    for _ in range(2):  # a process that was just ending may write once more
        shutil.rmtree(root, ignore_errors=True)


def _other_processes(home: str) -> list[int]:
    """Return the pids of all processes, except this one, whose environment names the home.

    After the agents and the daemon have ended, these are tmux and the hooks that tmux started at an agent's death.
    """
    mark = f"{FLEET_HOME}={home}".encode()
    return [pid for pid in ps.parents() if pid != os.getpid() and mark in ps.environment(pid)]


def _wait_for(fleet: Fleet, what: Callable[[], bool], else_say: str) -> None:
    """Wait until a condition is true; raise Refused with the text `else_say` when it is not true after 30 seconds."""
    deadline = fleet.clock.ticks() + _PATIENCE_AT_THE_END
    while not what():
        if fleet.clock.ticks() >= deadline:
            raise errors.Refused(what=else_say)
        fleet.clock.wait(_BETWEEN_LOOKS)


def _lock_of_dispatch(root: str) -> FileLock:
    """Return the lock that the trial's dispatch holds; the dispatch runs on when the process that started it is killed."""
    return FileLock(f"{root}/dispatch.lock", home=os.path.dirname(root))


def _end_agents(fleet: Fleet) -> bool:
    """Kill all agents of the trial; return whether none is left."""
    for agent in fleet.agents.list():
        _end_agent(fleet, agent.id)
    return not fleet.agents.list()


def _end_agent(fleet: Fleet, ident: str) -> None:
    """Kill an agent of the trial, unless it has ended by itself."""
    try:
        fleet.dispatches.kill(ident, "the trial is over")
    except errors.Refused:
        return  # the agent has ended by itself


def _stub_model(check: Check) -> AbstractContextManager[StubModel | None]:
    """Return the stub model that an engine's [check] wants, to open with `with`.

    When it wants none, the block gets None.
    """
    return StubModel(check.dialect, COMMANDS) if check.dialect in DIALECTS else nullcontext()


class _Trial:
    """One trial of one engine, with its home, repository and stub model."""

    def __init__(  # noqa: PLR0917 - what a trial is made of
        self, engine: Engine, check: Check, autonomy: str | None, root: str, stub: StubModel | None, sandbox: str | None
    ) -> None:
        self._engine = engine
        self._sandbox = sandbox
        self._check = check
        self._autonomy = autonomy
        self._stub = stub
        self._root = root
        self._home, self._repository, self._person = (f"{root}/{name}" for name in ("home", "repository", "person"))
        self._facts = {"{url}": stub.url if stub else "", "{repository}": self._repository, "{person}": self._person}

    def run(self, patience: float) -> Trial:
        """Dispatch an agent on the engine, watch it, and return what the trial showed.

        `patience` is how many seconds the agent may take. The verdict is "refused" when fleet refuses the dispatch.
        """
        self._make_home()
        with Fleet.open(self._home, actor="trial") as fleet:
            fleet.projects.register(self._repository, PROJECT)
            fleet.tasks.add(project=PROJECT, title="Prove that this engine works", slug=TASK, description=SCRIPT)
            if self._sandbox:
                lifecycle.start(fleet)
            started = self._dispatch(fleet.world.programs)
            if "error" in started:
                error = started["error"]
                return self._trial("refused", f"{error['message']} — {error['hint']}".removesuffix(" — "))
            return self._verdict(fleet, started["id"], *self._watch(fleet, started["id"], patience))

    def _make_home(self) -> None:
        """Write the temporary home, the repository, and the files that the engine's [check] wants."""
        for folder in (f"{self._home}/{paths.ENGINES}", self._person):
            os.makedirs(folder, mode=0o700)
        sandbox = f'agents.sandbox = "{self._sandbox}"\n' if self._sandbox else ""
        Path(self._home, HOME_FILE).write_text(f'exit_grace = "2s"\n{sandbox}', encoding="utf-8")
        shutil.copyfile(self._engine.source, f"{self._home}/{paths.ENGINES}/{self._engine.name}.toml")
        make_repository(self._repository)
        for name, text in self._check.files.items():
            path = Path(self._person, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self._filled(text), encoding="utf-8")

    def _dispatch(self, programs: Programs) -> dict[str, Any]:
        """Run `fleet dispatch` in a clean environment, which tmux and the agent inherit; return the JSON it prints.

        That is the dispatch, or an `error`. Raise FleetError when it prints something else.
        """
        freedom = ["--autonomy", self._autonomy] if self._autonomy else []
        words = [fleet_program(), "dispatch", TASK, "--project", PROJECT, "--engine", self._engine.name, *freedom]
        command = ["--", "sh", "-ec", _shell_script()] if self._check.dialect == "command" else []
        env = {name: os.environ[name] for name in (*_KEPT, self._engine.root_sandbox) if name in os.environ}
        env |= _SEALED | {"HOME": self._person, FLEET_HOME: self._home}
        env |= {name: self._filled(value) for name, value in self._check.env.items()}
        words += ["--json", *command]
        lock = _lock_of_dispatch(self._root)
        try:
            result = programs.run(
                "fleet dispatch", words, limit=_LIMIT, env=env, cwd=self._repository, lock=lock.take()
            )
            return dict(json.loads(result.out))
        except ValueError:
            raise errors.FleetError(what=f"the trial could not be dispatched: {result.err.strip()[-300:]}") from None
        finally:
            lock.give()

    def _filled(self, text: str) -> str:
        """Return a text with {url}, {repository} and {person} replaced by the trial's own."""
        for name, value in self._facts.items():
            text = text.replace(name, value)
        return text

    def _watch(self, fleet: Fleet, ident: str, patience: float) -> tuple[str, str]:
        """Wait until the trial can be judged; return the agent's state, and more about that state as text or "".

        That is when the agent has reported, has ended, asks or is stuck, or when the stub model has given its last
        answer. The state is "late" when none of this has happened after `patience` seconds.
        """
        deadline = fleet.clock.ticks() + patience
        while True:
            over = self._stub is not None and self._stub.over  # asked first, so that the agent's state is newer
            agent = next(iter(fleet.agents.list(PROJECT)), None)
            if agent is None:
                return "ended", ""
            if over or agent.report or agent.state in {"ended", "asks", *_STUCK}:
                return agent.state, " ".join(agent.detail.split())
            if fleet.clock.ticks() >= deadline:
                return "late", f"nothing was decided within {patience:g} s"
            if agent.state == "exited":
                fleet.sessions.settle_soon(ident)  # settling keeps the agent's output
            else:
                fleet.clock.wait(_BETWEEN_LOOKS)

    def _verdict(self, fleet: Fleet, ident: str, state: str, detail: str) -> Trial:
        """Return the trial's result: "proven" when the agent's commit, log line and report have all arrived.

        Else it is "unproven" for a late agent, "asks" for one that asks, and "broken" for any other. `state` and
        `detail` are what `_watch` returned.
        """
        arrived = self._evidence(fleet, ident)
        if all(arrived.values()):
            return self._trial("proven", "", **arrived)
        if state == "late":
            return self._trial("unproven", f"{detail}; it shows: {_last_line(fleet, ident)}", **arrived)
        if state == "asks":
            return self._trial("asks", detail, **arrived)
        shown = detail if state in _STUCK else ""
        return self._trial("broken", shown or self._first_failure() or _last_line(fleet, ident), **arrived)

    def _evidence(self, fleet: Fleet, ident: str) -> dict[str, bool]:
        """Return whether the commit, the log line and the report arrived, by the names of the fields of Trial."""
        titles = fleet.world.git.titles(self._repository, head_ref(INTEGRATION), task_ref(TASK))
        task = fleet.tasks.show(project=PROJECT, slug=TASK)
        return {
            "committed": any(title.endswith(MESSAGE) for title in titles),
            "logged": any(each.message == LOGGED for each in task.log),
            "reported": fleet.dispatches.show(ident).report == "done",
        }

    def _first_failure(self) -> str:
        """Return the last line that the first failed command printed; empty when none failed."""
        lines = self._stub.trouble[0].strip().splitlines() if self._stub and self._stub.trouble else []
        return lines[-1].strip() if lines else ""

    def _trial(self, verdict: TrialVerdict, detail: str, **arrived: bool) -> Trial:
        """Return the result of this trial; `arrived` says whether the commit, the log line and the report arrived."""
        return Trial(autonomy=self._autonomy, sandbox=self._sandbox, verdict=verdict, detail=detail, **arrived)


def _shell_script() -> str:
    """Return the trial's commands as one script for sh, for an engine whose agents run a given command."""
    return "\n".join([f"printf 'proof\\n' > {shlex.quote('proof.md')}", "git add proof.md", *COMMANDS[1:]])


def _last_line(fleet: Fleet, ident: str) -> str:
    """Return the last line on the agent's screen, without tmux's notice of its death; "nothing" when there is none."""
    try:
        lines = [line.strip() for line in fleet.agents.screen(ident).splitlines()]
    except errors.FleetError:
        return "nothing"
    return next((line for line in reversed(lines) if line and not line.startswith(_TMUX_NOTICE)), "nothing")
