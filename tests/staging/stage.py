"""A scene with hands: fleet as a program, tmux and signals, and a strict account of what survives it."""

import contextlib
import os
import pty
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from cli.commandline import Answer
from plugins.account import command_of, processes_of, survivors

from fleet.api.fleet import Fleet
from fleet.errors.families import FleetError
from fleet.model.dispatch.claim import Claim
from fleet.model.identity import Identity
from fleet.store import queries as q
from fleet.store.row import Query
from fleet.store.transaction import Change
from fleet.testing.crash.scenarios import until
from fleet.testing.scene import PROJECT, Scene
from fleet.world.process import ps
from fleet.world.tmux import Listing

FLEET = str(Path(sys.executable).parent / "fleet")
HALTING = str(Path(__file__).with_name("halting.py"))
PATIENCE = 90
_SWEEPS = 8
_LATER = ("could not settle", "could not kill")
_HELPERS = {"settle", "merge", "resume", "pr", "drain"}


class Stage(Scene):
    """One test's home, repository and server."""

    def __init__(self, *, store: str = "sqlite", settings: str = "", trust: str = "always") -> None:
        super().__init__(store=store, settings=settings, trust=trust)
        self.forgiven: set[str] = set()
        self.started: list[subprocess.Popen[str]] = []

    # fleet ------------------------------------------------------------------------------------------------------------
    def around(self, **more: str) -> dict[str, str]:
        return {**os.environ, "FLEET_HOME": self.home, "USER": "ann", **more}

    def start(self, *words: str, env: dict[str, str] | None = None, cwd: str | None = None) -> "subprocess.Popen[str]":
        """A process of this test, ended with it."""
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        child = subprocess.Popen(words, env=env or self.around(), cwd=cwd or self.repository, text=True, **pipes)
        self.started.append(child)
        return child

    def program(self, *words: str, env: dict[str, str] | None = None) -> Answer:
        """fleet, as a process of its own."""
        return answer(self.start(FLEET, *words, env=env))

    def halted(self, where: str, effect: str, verb: str, *words: str, **more: str) -> "subprocess.Popen[str]":
        """A process that acts and has stopped itself before, during or after an effect."""
        child = self.start(sys.executable, HALTING, where, effect, verb, *words, env=self.around(**more))
        line = child.stdout.readline() if child.stdout else ""
        assert line.startswith("halted"), (line, child.communicate())
        until(
            lambda: Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
        )  # it says so first
        return child

    def dispatch_and_leave(self, *words: str, verb: str = "dispatch", **more: str) -> str:
        """Dispatched by a process that is dead when this returns."""
        said = answer(self.start(sys.executable, HALTING, "never", "", verb, *words, env=self.around(**more)))
        assert said.code == 0, said
        return said.out.strip()

    def killed(self, fleet: Fleet, slug: str) -> str:
        """A task that failed because its agent was killed at work."""
        ident = self.dispatch(fleet, slug, "sleep", "1000")
        self.launched(fleet, ident)
        fleet.dispatches.kill(ident, "a test")
        return ident

    def swept(self, fleet: Fleet) -> None:
        """Swept until there is nothing more to do. What tmux started, and a git that somebody killed has left, are at their end by then."""

        def is_quiet() -> bool:
            until(lambda: not self.helpers() and not any(command_of(pid)[:1] == ["git"] for pid in self.processes()))
            return not acted(fleet.sweep.run(kill=True)) and not self.helpers()  # nor has one begun meanwhile

        until(is_quiet)
        for _ in range(_SWEEPS):  # what was still going when it was looked at
            if not any(each.action.startswith(_LATER) for each in fleet.sweep.run(kill=True)):
                break

    # looking ----------------------------------------------------------------------------------------------------------
    def launched(self, fleet: Fleet, ident: str) -> Identity:
        """The agent's process, once it is its own."""
        until(lambda: fleet.context.dispatch(ident).process)
        who = process_of(fleet, ident)
        until(lambda: "launch" not in command_of(who.pid))  # it has become the agent
        return who

    def shows(self, fleet: Fleet, ident: str, text: str) -> None:
        until(lambda: text in fleet.agents.screen(ident, history=True))

    def exited(self, fleet: Fleet, ident: str) -> None:
        """Its process is proven dead; nobody has settled it."""
        who = self.launched(fleet, ident)
        until(lambda: fleet.world.processes.life(who) == "dead")

    def told_again(self, fleet: Fleet) -> Listing:
        """What tmux lists, once it was told that somebody may have died."""
        server = fleet.world.tmux.listing().server
        if server is not None:
            fleet.world.processes.signal(server, signal.SIGCHLD)
        return fleet.world.tmux.listing()

    def ended(self, fleet: Fleet) -> None:
        """Every dispatch was settled by whoever noticed. tmux before 3.5 may lose the signal of a death: it is told again."""

        until(lambda: self.told_again(fleet) and not fleet.dispatches.list(ended=False))

    # the outside ------------------------------------------------------------------------------------------------------
    def tmux(self, *words: str) -> str:
        done = subprocess.run(
            ["tmux", "-N", "-S", f"{self.home}/tmux.sock", *words], capture_output=True, text=True, check=True
        )
        return done.stdout

    def without_hint(self, fleet: Fleet) -> None:
        """tmux tells nobody that a pane died: the test settles by itself."""
        fleet.world.tmux.ensure_server()
        self.tmux("set-hook", "-gu", "pane-died")

    def server(self, fleet: Fleet) -> int:
        found = fleet.world.tmux.listing().server
        assert found is not None
        return found.pid

    def servers(self) -> list[int]:
        """Every tmux server that was started on this home's socket; a child that it just forked looks like one, and is none."""
        alike = [
            pid for pid in self.processes() if command_of(pid)[:1] == ["tmux"] and "start-server" in command_of(pid)
        ]
        parents = ps.parents()
        return [pid for pid in alike if parents.get(pid, 0) not in alike]

    def processes(self) -> list[int]:
        """Every process that has this home in its environment."""
        return processes_of(self.home)

    def helpers(self) -> list[int]:
        """What tmux and fleet have started by themselves, from the shell they begin as to their end."""
        return [pid for pid in self.processes() if _HELPERS & set(" ".join(command_of(pid)[1:]).split())]

    def tree(self, slug: str) -> Path:
        return Path(self.home, "projects", PROJECT, "worktrees", slug)

    def shim(self, program: str, when: str) -> str:
        """A PATH on which a real program fails in one case and is itself in all others."""
        folder = Path(self.root, f"shim-{program}")
        folder.mkdir()
        found = subprocess.run(["which", program], capture_output=True, text=True, check=True).stdout.strip()
        text = f'#!/bin/sh\ncase " $* " in *"{when}"*) echo "{program}: refused by the test" >&2; exit 1;; esac\nexec {found} "$@"\n'
        (folder / program).write_text(text)
        (folder / program).chmod(0o700)
        return f"{folder}:{os.environ['PATH']}"

    # the end ----------------------------------------------------------------------------------------------------------
    def end(self) -> None:
        """End all work, archive, sweep; whatever is left then, and was not forgiven, fails the test."""
        for child in self.started:
            with child:
                child.kill()
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        left: list[str] = []
        try:
            with contextlib.suppress(*[FleetError, OSError] if "everything" in self.forgiven else []):
                left = self._wound_up()
        finally:
            self.close()
            until(lambda: not self.processes())
            shutil.rmtree(self.root, ignore_errors=True)  # a hint that was still running may have written once more
        assert left == [], left

    def _wound_up(self) -> list[str]:
        with contextlib.suppress(subprocess.CalledProcessError):  # there may be no server
            self.tmux("set-hook", "-gu", "pane-died")
        with self.fleet("finisher") as fleet:
            for _ in range(2):  # a helper may have started one more
                self.told_again(fleet)
                for agent in fleet.agents.list():
                    with contextlib.suppress(FleetError, OSError):
                        fleet.dispatches.kill(agent.id, "the test is over")
                until(lambda: not self.helpers())
            for project in [each.name for each in fleet.projects.list()]:
                for task in list(fleet.tasks.list(project=project)):
                    if task.status not in {"done", "failed", "abandoned"}:
                        fleet.tasks.abandon(project=project, slug=task.slug, override=True)
                    fleet.tasks.archive(project=project, slug=task.slug)
            until(lambda: not self.helpers())
            restless = next(
                (done for done in (acted(fleet.sweep.run(kill=True)) for _ in range(_SWEEPS)) if not done), None
            )
        if "everything" in self.forgiven:
            return []
        found = [*self.leftovers(), *(["a sweep that never rests"] if restless is None else [])]
        if not any(each.startswith("session") for each in self.forgiven):  # one that stays keeps its server
            found += survivors(self.home)
        return [each for each in found if not each.startswith(tuple(self.forgiven or {"-"}))]


class Terminal:
    """fleet as a person runs it: on a terminal of its own."""

    def __init__(self, stage: Stage, *words: str, term: str = "dumb") -> None:
        self.screen = ""
        self._keyboard, theirs = pty.openpty()
        around = {"stdin": theirs, "stdout": theirs, "stderr": theirs, "env": stage.around(TERM=term)}
        self._child = subprocess.Popen((FLEET, *words), cwd=stage.repository, text=True, **around)
        stage.started.append(self._child)
        os.close(theirs)

    def shows(self, text: str) -> None:
        while text not in self.screen:
            assert self._read(), f"{text!r} was never shown: {self.screen}"

    def type(self, text: str) -> None:
        os.write(self._keyboard, text.encode())

    def ended(self) -> Answer:
        """All that it showed, and how it ended."""
        while self._read():
            pass
        os.close(self._keyboard)
        return Answer(self._child.wait(PATIENCE), self.screen, "")

    def _read(self) -> bool:
        try:
            more = os.read(self._keyboard, 65_536)
        except OSError:  # nobody has the other side open any more
            return False
        self.screen += more.decode().replace("\r\n", "\n")
        return bool(more)


def answer(child: "subprocess.Popen[str]") -> Answer:
    out, err = child.communicate(timeout=PATIENCE)
    return Answer(child.returncode, out, err)


def process_of(fleet: Fleet, ident: str) -> Identity:
    found = Identity.parse(fleet.context.dispatch(ident).process or "")
    assert found is not None
    return found


def claim_of(fleet: Fleet, kind: str, ident: str = "", slug: str = "") -> Claim:
    """The newest claim of a kind, of a dispatch or a task's bundle."""
    rows = fleet.store.read(
        lambda snapshot: (
            q.claims_of_dispatch(snapshot, dispatch=ident)
            if ident
            else q.claims_of_bundle(snapshot, project=PROJECT, slug=slug)
        )
    )
    return [claim for claim in map(Claim.of, rows) if claim.kind == kind][-1]


def bundle_of(fleet: Fleet, slug: str) -> dict[str, Any]:
    found = fleet.store.read(lambda rows: q.bundle_of(rows, project=PROJECT, slug=slug))
    assert found is not None
    return found


def status_of(fleet: Fleet, slug: str) -> tuple[str, str | None]:
    """A task's status and reason; at its last stage with nobody at work it waits to be merged."""
    task = fleet.tasks.show(project=PROJECT, slug=slug)
    if task.status == "in_progress" and task.stage == "finisher" and fleet.merge.mergeable(project=PROJECT):
        return "to merge", task.reason
    return task.status, task.reason


def raw(fleet: Fleet, sql: str) -> None:
    """Change the store behind fleet's back: what only time would do."""
    fleet.commit(Change("a test", lambda tx: {"changed": tx.write(Query("raw", sql, sql), {})}))


def acted(findings: list[Any]) -> list[str]:
    """What a sweep did, but for what is derived and rewritten whenever it is stale."""
    return [f"{each.what}: {each.action}" for each in findings if each.done and "coord-state.json" not in each.what]


def standing(findings: list[Any]) -> list[str]:
    return [f"{each.what}: {each.why}" for each in findings if each.standing]


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in {"Z", "X"}
    except OSError:
        return False
