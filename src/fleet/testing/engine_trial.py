"""A trial of an engine: the real program, really dispatched in a throw-away home, told to commit, to log and to report.

It says what arrived outside. Nothing of the person's reaches the program: no account, no settings, no network.
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
from fleet.model.branches import INTEGRATION, head_ref, task_ref
from fleet.model.results.engines import Trial
from fleet.testing.scene import make_repository
from fleet.testing.stub_model import SPEAKERS, StubModel
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
COMMANDS = ("git mv README.md proof.md", f'git commit --message "{MESSAGE}"', f'fleet log "{LOGGED}"', "fleet done")
SCRIPT = f"write proof.md proof\ncommit {MESSAGE}\nlog {LOGGED}\ndone\n"
PATIENCE = 120.0
_BETWEEN_LOOKS = 0.1
_LIMIT = 120.0
_PATIENCE_AT_THE_END = 30.0
_NOWHERE = "http://127.0.0.1:9"
_KEPT = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TERM", "TZ", "TMPDIR", "USER", "LOGNAME", "SHELL")
# What is not on loopback goes to a proxy that nobody is.
_SEALED = {"HTTP_PROXY": _NOWHERE, "HTTPS_PROXY": _NOWHERE, "NO_PROXY": "127.0.0.1,localhost"}
_OF_TMUX = "Pane is dead"
_STUCK = ("dialog", "limit", "failed_turn")


def try_out(engine: Engine, autonomy: str | None, root: str, *, patience: float = PATIENCE) -> Trial:
    """Try the engine in a directory of its own, and leave nothing behind."""
    if engine.check is None:
        return Trial(autonomy=autonomy, verdict="unproven", detail="its file has no [check]")
    clear(root)
    try:
        with _model(engine.check) as stub:
            return _Trial(engine, engine.check, autonomy, root, stub).run(patience)
    finally:
        clear(root)


def clear(root: str) -> None:
    """End and remove what a trial left, this one or one that was killed."""
    home = f"{root}/home"
    if os.path.isdir(home):
        with Fleet.open(home, actor="trial") as fleet:
            _wait_for(fleet, lambda: _dispatching(root).is_free(), f"the dispatch in {home} goes on")
            _wait_for(fleet, lambda: _ended(fleet), f"an agent of the trial in {home} could not be ended")
            fleet.sweep.run(kill=True)
            fleet.world.tmux.stop_empty_server()
            _wait_for(fleet, lambda: not _others(home), f"something of the trial in {home} goes on")
    for _ in range(2):  # what was written by one that was just being ended
        shutil.rmtree(root, ignore_errors=True)


def _others(home: str) -> list[int]:
    """Whoever else is at work in that home: tmux, and what it started at an agent's death."""
    mark = f"FLEET_HOME={home}".encode()
    return [pid for pid in ps.parents() if pid != os.getpid() and mark in ps.environment(pid)]


def _wait_for(fleet: Fleet, what: Callable[[], bool], else_say: str) -> None:
    deadline = fleet.clock.ticks() + _PATIENCE_AT_THE_END
    while not what():
        if fleet.clock.ticks() >= deadline:
            raise errors.Refused(what=else_say)
        fleet.clock.wait(_BETWEEN_LOOKS)


def _dispatching(root: str) -> FileLock:
    """Locked by the dispatch, which goes on when whoever started it is killed."""
    return FileLock(f"{root}/dispatch.lock")


def _ended(fleet: Fleet) -> bool:
    for agent in fleet.agents.list():
        _end(fleet, agent.id)
    return not fleet.agents.list()


def _end(fleet: Fleet, ident: str) -> None:
    try:
        fleet.dispatches.kill(ident, "the trial is over")
    except errors.Refused:
        return  # it ended by itself


def _model(check: Check) -> AbstractContextManager[StubModel | None]:
    return StubModel(check.dialect, COMMANDS) if check.dialect in SPEAKERS else nullcontext()


class _Trial:
    def __init__(self, engine: Engine, check: Check, autonomy: str | None, root: str, stub: StubModel | None) -> None:
        self._engine = engine
        self._check = check
        self._autonomy = autonomy
        self._stub = stub
        self._root = root
        self._home, self._repository, self._person = (f"{root}/{name}" for name in ("home", "repository", "person"))
        self._facts = {"{url}": stub.url if stub else "", "{repository}": self._repository, "{person}": self._person}

    def run(self, patience: float) -> Trial:
        self._furnish()
        with Fleet.open(self._home, actor="trial") as fleet:
            fleet.projects.register(self._repository, PROJECT)
            fleet.tasks.add(project=PROJECT, title="Prove that this engine works", slug=TASK, description=SCRIPT)
            started = self._dispatch(fleet.world.programs)
            if "error" in started:
                error = started["error"]
                return self._trial("refused", f"{error['message']} — {error['hint']}".removesuffix(" — "))
            return self._judge(fleet, started["id"], *self._watch(fleet, started["id"], patience))

    def _furnish(self) -> None:
        for folder in (f"{self._home}/{paths.ENGINES}", self._person):
            os.makedirs(folder, mode=0o700)
        Path(self._home, "config.toml").write_text('exit_grace = "2s"\n', encoding="utf-8")
        shutil.copyfile(self._engine.source, f"{self._home}/{paths.ENGINES}/{self._engine.name}.toml")
        make_repository(self._repository)
        for name, text in self._check.files.items():
            path = Path(self._person, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self._filled(text), encoding="utf-8")

    def _dispatch(self, programs: Programs) -> dict[str, Any]:
        """As a person would, in the person's surroundings: tmux and the agent inherit them. Returns what `--json` prints."""
        freedom = ["--autonomy", self._autonomy] if self._autonomy else []
        words = [fleet_program(), "dispatch", TASK, "--project", PROJECT, "--engine", self._engine.name, *freedom]
        command = ["--", "sh", "-ec", _shell()] if self._check.dialect == "command" else []
        env = {name: os.environ[name] for name in (*_KEPT, self._engine.root_sandbox) if name in os.environ}
        env |= _SEALED | {"HOME": self._person, "FLEET_HOME": self._home}
        env |= {name: self._filled(value) for name, value in self._check.env.items()}
        words += ["--json", *command]
        lock = _dispatching(self._root)
        try:
            done = programs.run("fleet dispatch", words, limit=_LIMIT, env=env, cwd=self._repository, lock=lock.take())
            return dict(json.loads(done.out))
        except ValueError:
            raise errors.FleetError(what=f"the trial could not be dispatched: {done.err.strip()[-300:]}") from None
        finally:
            lock.give()

    def _filled(self, text: str) -> str:
        for name, value in self._facts.items():
            text = text.replace(name, value)
        return text

    def _watch(self, fleet: Fleet, ident: str, patience: float) -> tuple[str, str]:
        """Wait until it has reported, ended, asks, or cannot go on. Returns its state and the detail; "late" after `patience`."""
        deadline = fleet.clock.ticks() + patience
        while True:
            over = self._stub is not None and self._stub.over  # before the look, which then sees all that came of it
            agent = next(iter(fleet.agents.list(PROJECT)), None)
            if agent is None:
                return "ended", ""
            if over or agent.report or agent.state in {"ended", "asks", *_STUCK}:
                return agent.state, " ".join(agent.detail.split())
            if fleet.clock.ticks() >= deadline:
                return "late", f"nothing was decided within {patience:g} s"
            if agent.state == "exited":
                fleet.sessions.settle_soon(ident)  # its output is kept then
            else:
                fleet.clock.wait(_BETWEEN_LOOKS)

    def _judge(self, fleet: Fleet, ident: str, state: str, detail: str) -> Trial:
        arrived = self._arrived(fleet, ident)
        if all(arrived.values()):
            return self._trial("proven", "", **arrived)
        if state == "late":
            return self._trial("unproven", f"{detail}; it shows: {_last_line(fleet, ident)}", **arrived)
        if state == "asks":
            return self._trial("asks", detail, **arrived)
        shown = detail if state in _STUCK else ""
        return self._trial("broken", shown or self._trouble() or _last_line(fleet, ident), **arrived)

    def _arrived(self, fleet: Fleet, ident: str) -> dict[str, bool]:
        titles = fleet.world.git.titles(self._repository, head_ref(INTEGRATION), task_ref(TASK))
        task = fleet.tasks.show(project=PROJECT, slug=TASK)
        return {
            "committed": any(title.endswith(MESSAGE) for title in titles),
            "logged": any(each.message == LOGGED for each in task.log),
            "reported": fleet.dispatches.show(ident).report == "done",
        }

    def _trouble(self) -> str:
        """What the first command that failed said last."""
        lines = self._stub.trouble[0].strip().splitlines() if self._stub and self._stub.trouble else []
        return lines[-1].strip() if lines else ""

    def _trial(self, verdict: TrialVerdict, detail: str, **arrived: bool) -> Trial:
        return Trial(autonomy=self._autonomy, verdict=verdict, detail=detail, **arrived)


def _shell() -> str:
    """What an agent is told to do, as one command of sh."""
    return "\n".join([f"printf 'proof\\n' > {shlex.quote('proof.md')}", "git add proof.md", *COMMANDS[1:]])


def _last_line(fleet: Fleet, ident: str) -> str:
    try:
        lines = [line.strip() for line in fleet.agents.screen(ident).splitlines()]
    except errors.FleetError:
        return "nothing"
    return next((line for line in reversed(lines) if line and not line.startswith(_OF_TMUX)), "nothing")
