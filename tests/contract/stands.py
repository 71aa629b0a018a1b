"""The two worlds behind one set of hands: what a test of their contract does to processes and tmux from outside."""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable

import pytest
from plugins.account import survivors

from fleet.model.identity import Identity
from fleet.testing.crash.scenarios import until
from fleet.testing.simulated import Process, SimulatedMachine, SimulatedWorld
from fleet.world.funnel import Funnel
from fleet.world.process import ps
from fleet.world.tmux import Pane
from fleet.world.world import World

SLEEP = ("sleep", "1000")


class Stand:
    """A world and its home."""

    world: World

    def __init__(self) -> None:
        self.root = tempfile.mkdtemp(prefix="fleet-world-", dir="/tmp")
        self.home = f"{self.root}/home"
        os.mkdir(self.home, mode=0o700)
        self.funnel = Funnel()

    def session(self, dispatch: str = "0000000a", words: tuple[str, ...] = SLEEP, name: str = "") -> Pane:
        """A session that runs these words, on a server that is started if need be."""
        self.world.tmux.ensure_server()
        marked = ("/usr/bin/env", f"FLEET_DISPATCH_ID={dispatch}", *words)
        self.world.tmux.create(
            name or f"fleet-{dispatch}",
            dispatch=dispatch,
            about="p/a",
            cwd=self.home,
            env={"FLEET_HOME": self.home},
            words=marked,
            lock=-1,
        )
        return self.pane(dispatch)

    def pane(self, dispatch: str = "0000000a") -> Pane:
        found = self.world.tmux.listing().pane_of(dispatch)
        assert found is not None
        return found

    def identity(self, pid: int) -> Identity:
        found = self.world.processes.identify(pid)
        assert found is not None
        return found

    def becomes(self, fact: Callable[[], object]) -> None:
        """Wait until it is so."""
        until(fact)

    def lose_socket(self) -> None:
        os.unlink(self.world.tmux.socket)


class Real(Stand):
    """Real processes, and a real tmux server."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        super().__init__()
        self._patch = patch
        self._children: list[subprocess.Popen[bytes]] = []
        self.world = World(self.home, self.funnel)

    def start(self, environment: dict[str, str] | None = None, *, ignores: int = 0, children: int = 0) -> Identity:
        """A process of ours, which has so many children."""
        script = f"trap '' {ignores}; " if ignores else ""
        script += "sleep 1000 & " * children + ("wait" if children else "exec sleep 1000")
        around = {**os.environ, **(environment or {})}
        child = subprocess.Popen(["/bin/sh", "-c", script], env=around, start_new_session=True)
        self._children.append(child)
        until(lambda: len(self.world.processes.families([self.identity(child.pid)])) == 1 + children)
        until(lambda: children or "sleep" in ps.program(child.pid))
        return self.identity(child.pid)

    def kill(self, who: Identity) -> None:
        os.kill(who.pid, signal.SIGKILL)
        until(lambda: self.world.processes.life(who) == "dead")

    def hide(self, who: Identity) -> None:
        """The kernel does not say anything of it any more."""
        genuine = ps._stat_fields

        def fields(pid: int) -> list[str] | None:
            if pid == who.pid:
                raise ps.Unreadable(str(pid))
            return genuine(pid)

        self._patch.setattr(ps, "_stat_fields", fields)

    def stop(self, who: Identity) -> None:
        self._patch.setattr("fleet.world.tmux.LIMIT", 0.3)
        os.kill(who.pid, signal.SIGSTOP)

    def exit_words(self, status: int) -> tuple[str, ...]:
        return ("/bin/sh", "-c", f"exit {status}")

    def deaf_words(self) -> tuple[str, ...]:
        """A program that ignores SIGHUP."""
        return ("/bin/sh", "-c", "trap '' HUP; echo deaf; exec sleep 1000")

    def ran(self, dispatch: str) -> None:
        """Let the program of a pane come to its end, and tmux notice. Before 3.5 it may lose the signal: it is told again.

        tmux calls a pane dead as soon as its terminal is closed, a moment before it knows how the process ended.
        """
        server = self.world.tmux.listing().server
        assert server is not None
        until(lambda: self.world.processes.signal(server, signal.SIGCHLD) and self.pane(dispatch).status is not None)

    def is_deaf(self, dispatch: str) -> bool:
        return "deaf" in (self.world.tmux.capture(self.pane(dispatch), history=False) or "")

    def persons_session(self, name: str) -> None:
        subprocess.run(["tmux", "-S", self.world.tmux.socket, "new-session", "-d", "-s", name, *SLEEP], check=True)

    def close(self) -> None:
        self._patch.undo()
        for pid in [int(name) for name in os.listdir("/proc") if name.isdigit()]:
            if f"FLEET_HOME={self.home}".encode() in ps.environment(pid) and pid != os.getpid():
                os.kill(pid, signal.SIGCONT)
                os.kill(pid, signal.SIGKILL)
        for child in self._children:
            with child:
                os.killpg(child.pid, signal.SIGKILL)
        self.world.close()
        left = survivors(self.home)
        shutil.rmtree(self.root)
        assert left == []


class Simulated(Stand):
    """The simulated machine."""

    def __init__(self, _patch: pytest.MonkeyPatch) -> None:
        super().__init__()
        self.machine = SimulatedMachine()
        self.world = SimulatedWorld(self.home, self.funnel, machine=self.machine)

    def start(self, environment: dict[str, str] | None = None, *, ignores: int = 0, children: int = 0) -> Identity:
        table, me = self.machine.table, self.world.processes.me()
        started = table.spawn(me.pid, SLEEP, environment=environment, leads_session=True)
        started.ignores.add(ignores)
        for _ in range(children):
            table.spawn(started.pid, SLEEP)
        return self.identity(started.pid)

    def _process(self, who: Identity) -> Process:
        return self.machine.process(who)

    def kill(self, who: Identity) -> None:
        self.machine.table.signal(self._process(who), signal.SIGKILL)

    def hide(self, who: Identity) -> None:
        self._process(who).is_hidden = True

    def stop(self, who: Identity) -> None:
        self.machine.table.signal(self._process(who), signal.SIGSTOP)

    def exit_words(self, status: int) -> tuple[str, ...]:
        return ("exit", str(status))

    def deaf_words(self) -> tuple[str, ...]:
        return ("deaf",)

    def ran(self, dispatch: str) -> None:
        process = self._process(self.identity(self.pane(dispatch).pid))
        self.machine.table.exit(process, int(process.words[-1]))

    def is_deaf(self, dispatch: str) -> bool:
        self._process(self.identity(self.pane(dispatch).pid)).ignores.add(signal.SIGHUP)
        return True

    def persons_session(self, name: str) -> None:
        (server,) = self.machine.servers.values()
        server.open(name, SLEEP, {}, "/")

    def becomes(self, fact: Callable[[], object]) -> None:
        """Nothing happens by itself: it is so at once."""
        assert fact()

    def close(self) -> None:
        self.world.close()
        shutil.rmtree(self.root)
