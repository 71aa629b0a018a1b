"""Simulated tmux servers. A socket is a file with its server's pid, so that it can be lost or taken over like a real one."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fleet import errors
from fleet.model import FLEET_HOME, names
from fleet.testing.simulated.processes import FIRST
from fleet.world.tmux import LIMIT, Listing, Pane, Tmux

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fleet.model.identity import Identity
    from fleet.testing.simulated.machine import SimulatedMachine
    from fleet.testing.simulated.processes import Process
    from fleet.world.world import World


@dataclass(eq=False, kw_only=True)
class SimulatedPane:
    """One simulated pane. A test writes its screen and reads what was typed."""

    session: str
    session_id: str
    number: int
    process: Process
    dispatch: str = ""
    home: str = ""
    stamped: bool = False
    attached: bool = False
    # When the screen last changed, in milliseconds since 1970. A test that writes the screen may say so here.
    active_at: int = 0
    title: str = ""
    screen: str = ""
    typed: list[str] = field(default_factory=list)
    # Exit status and signal of the dead process, and whether tmux has noticed the death.
    ended: tuple[int | None, int | None] | None = None
    dead: bool = False

    def listed(self) -> Pane:
        """Return the pane as the server lists it."""
        status, number = self.ended or (None, None)
        return Pane(
            session=self.session,
            session_id=self.session_id,
            number=self.number,
            pid=self.process.pid,
            dead=self.dead,
            status=(status if number is None else 128 + number) if self.dead else None,
            dispatch=self.dispatch,
            home=self.home,
            stamped=self.stamped,
            attached=self.attached,
            active_at=self.active_at,
            title=self.title,
        )


class SimulatedServer:
    """One simulated tmux server: a process, its sessions, and its socket.

    A server that `is_deaf` does not notice by itself that a pane's process has died.
    """

    def __init__(self, machine: SimulatedMachine, socket: str, process: Process) -> None:
        self._machine = machine
        self.socket = socket
        self.process = process
        self.panes: list[SimulatedPane] = []
        # A deaf server misses the deaths of its children, as tmux before 3.5 may. Another SIGCHLD makes it notice them.
        self.is_deaf = False
        self._waits_for_first = True
        self._numbers = 0
        process.handlers = {signal.SIGCHLD: self.notice, signal.SIGUSR1: self.listen}
        process.on_death.append(self._end_server)

    def listen(self) -> None:
        """Create the socket, replacing any file in its place."""
        with open(self.socket, "w", encoding="ascii") as file:
            file.write(str(self.process.pid))

    def open(self, session: str, words: Sequence[str], environment: Mapping[str, str], cwd: str) -> SimulatedPane:
        """Create a session with one pane and return the pane."""
        given = dict(self.process.environment) | dict(environment)
        given |= {"TMUX": f"{self.socket},{self.process.pid},0", "TMUX_PANE": f"%{self._numbers}"}
        left, given = _apply_env(words, given)
        process = self._machine.table.spawn(self.process.pid, left, environment=given, cwd=cwd, leads_session=True)
        process.has_terminal = True
        pane = SimulatedPane(
            session=session,
            session_id=f"${self._numbers}",
            number=self._numbers,
            process=process,
            active_at=self._machine.clock.now(),
            title="simulated",
        )
        process.on_death.append(lambda status, number: self._note_pane_death(pane, status, number))
        self._numbers += 1
        self._waits_for_first = False
        self.panes.append(pane)
        return pane

    def notice(self) -> None:
        """Mark the panes whose process has died as dead.

        An agent's pane (it is stamped) stays, with its exit status, and the machine records the command that would
        settle the dispatch. Any other pane is closed.
        """
        for pane in [each for each in self.panes if each.ended is not None and not each.dead]:
            pane.dead = True
            self._machine.table.reap(pane.process)
            if pane.stamped:
                self._machine.started.append(("settle", "--hint", names.session(pane.dispatch)))
            else:
                self.close(pane)

    def close(self, pane: SimulatedPane) -> None:
        """Close a pane and, unless its process has died, send SIGHUP to all processes of its session.

        The server exits with its last session.
        """
        self.panes.remove(pane)
        if pane.ended is None:
            self._machine.table.hang_up(pane.process.pid)
        self.exit_if_empty()

    def exit_if_empty(self, *, now: bool = False) -> None:
        """Exit if no session is left, and remove the socket if it is still this server's.

        A server that never had a session waits for one, unless `now`.
        """
        if not self.panes and (now or not self._waits_for_first):
            if self._is_on_socket():
                os.unlink(self.socket)
            self._machine.table.exit(self.process)

    def _is_on_socket(self) -> bool:
        return _pid_on(self.socket) == self.process.pid

    def _note_pane_death(self, pane: SimulatedPane, status: int | None, number: int | None) -> None:
        """Record that a pane's process ended with an exit status, or by the signal `number`; the other one is None.

        Mark the pane as dead at once, unless the test has set `is_deaf`: then the server misses the signal, as old versions
        of tmux do.
        """
        pane.ended = (status, number)
        if not self.is_deaf and not self.process.is_zombie:
            self.notice()

    def _end_server(self, _status: int | None, _number: int | None) -> None:
        """Send SIGHUP to all panes of the dead server. The socket of a killed server stays."""
        self._machine.servers.pop(self.process.pid, None)
        self._machine.table.reap(self.process)
        for pane in self.panes:
            self._machine.table.hang_up(pane.process.pid)
            if pane.ended is not None:
                self._machine.table.reap(pane.process)


class SimulatedTmux(Tmux):
    """The simulated tmux server of one home, as one process sees it."""

    def __init__(self, world: World, machine: SimulatedMachine) -> None:
        super().__init__(
            world.home,
            home_id=world.record.id,
            files=world.files,
            programs=world.programs,
            processes=world.processes,
            cgroups=world.cgroups,
            clock=world.clock,
            fleet=world.fleet_program,
        )
        self._funnel = world.funnel
        self._machine = machine

    def listing(self) -> Listing:
        """Return every pane of the server on the socket; without such a server, why none answers."""
        return self._funnel.through("tmux list", self._listing)

    def create(
        self,
        session: str,
        *,
        dispatch: str,
        about: str,  # noqa: ARG002 - shown to people only
        cwd: str,
        env: Mapping[str, str],
        words: Sequence[str],
        lock: int,  # noqa: ARG002 - no process inherits the lock
    ) -> Identity | None:
        """Create a session whose pane is stamped and runs the command `words`; return the server's identity.

        Return None when the server's process cannot be identified. Raise TmuxRefused when no server answers (none is
        started), or when the session exists already.
        """

        def act() -> Identity | None:
            server = self._server()
            if server is None:
                raise errors.TmuxRefused(what=f"make session {session}", why=self._why_silent())
            if any(pane.session == session for pane in server.panes):
                raise errors.TmuxRefused(what=f"make session {session}", why=f"duplicate session: {session}")
            pane = server.open(session, words, env, cwd)
            pane.dispatch, pane.home, pane.stamped = dispatch, self.home_id, True
            return self._processes.identify(server.process.pid)

        return self._funnel.through("tmux new-session", act)

    def kill(self, pane: Pane) -> bool:
        """Close an agent's pane if it is still the listed one; return whether it was closed."""

        def act() -> bool:
            server = self._server()
            there = [each for each in server.panes if each.number == pane.number] if server else []
            if server is None or not there or not self._is_same(server, there[0], pane):
                return False
            server.close(there[0])
            return True

        return self._funnel.through("tmux kill-pane", act)

    def capture(self, pane: Pane, *, history: bool, colours: bool = False) -> str | None:  # noqa: ARG002 - a simulated screen has neither
        """Return the text on the screen of a pane; None when the server does not answer or the pane is gone."""
        there = self._pane(pane)
        return self._funnel.through("tmux capture-pane", lambda: there.screen if there else None)

    def screens(self, panes: Sequence[Pane]) -> dict[int, str]:
        """Return the text on the screens of panes, by their numbers. A pane that is gone is left out."""
        there = [each for pane in panes if (each := self._pane(pane))]
        return self._funnel.through("tmux capture-pane", lambda: {each.number: each.screen for each in there})

    def paste(self, pane: Pane, text: str) -> bool:
        """Type a text into a pane, which shows it; return False when the pane is gone."""

        def act() -> bool:
            there = self._pane(pane)
            if there is not None:
                there.typed.append(text)
                there.screen += f"{text}\n"
                there.active_at = self._clock.now()
            return there is not None

        return self._funnel.through("tmux paste-buffer", act)

    def clients(self) -> list[tuple[str, str]]:
        """Return the terminals that the test has attached: the device and the name of each."""
        return list(self._machine.terminals)

    def stop_empty_server(self) -> bool:
        """Let a server without sessions exit; return False when there is no such server."""
        server = self._server()
        if server is None or server.panes:
            return False
        self._funnel.through("tmux exit-empty", lambda: server.exit_if_empty(now=True))
        return True

    def _start(self) -> None:
        """Start a server on the socket, unless one answers there."""

        def act() -> None:
            if self._server() is None:
                environment = {**self._machine.shell.environment, FLEET_HOME: self.home}
                words = ["tmux", "-S", self.socket, "start-server"]
                process = self._machine.table.spawn(FIRST, words, environment=environment, leads_session=True)
                process.program = "tmux: server"
                server = SimulatedServer(self._machine, self.socket, process)
                self._machine.servers[process.pid] = server
                server.listen()

        self._funnel.through("tmux start-server", act)

    def _listing(self) -> Listing:
        """Return what `listing` returns, which calls this through the funnel."""
        server = self._server()
        if server is None:
            return Listing(server=None, why=self._why_silent())
        identity = self._processes.identify(server.process.pid)
        if identity is None:
            return Listing(server=None, why="its process cannot be seen from here: is this a sandbox?")
        return Listing(server=identity, panes=tuple(each.listed() for each in server.panes), home=self.home_id)

    def _server(self) -> SimulatedServer | None:
        """Return the server that answers on the socket, else None: for a stopped server after the whole time limit."""
        server = self._machine.servers.get(_pid_on(self.socket))
        if server is not None and server.process.is_stopped:
            self._clock.wait(LIMIT)
            return None
        return server

    def _why_silent(self) -> str:
        """Return why no server answers, in tmux's words."""
        lives = _pid_on(self.socket) in self._machine.servers
        return f"no answer within {LIMIT:g} s" if lives else f"no server running on {self.socket}"

    def _pane(self, pane: Pane) -> SimulatedPane | None:
        """Return the simulated pane for a listed pane; None when it is gone or the server does not answer."""
        server = self._server()
        return next((each for each in server.panes if each.number == pane.number), None) if server else None

    def _is_same(self, server: SimulatedServer, there: SimulatedPane, listed: Pane) -> bool:
        """Return whether the pane `there` is still the listed one: it names the same dispatch and the same home.

        If the listed pane was stamped, `there` must be stamped, too; else it must be the only pane of its session.
        """
        if (there.dispatch, there.home) != (listed.dispatch, listed.home):
            return False
        if listed.stamped:
            return there.stamped
        return [each for each in server.panes if each.session == there.session] == [there]


def _pid_on(socket: str) -> int:
    """Return the pid of the simulated server, which is written in its socket's file; 0 when there is no such file or pid."""
    try:
        with open(socket, encoding="ascii") as file:
            return int(file.read() or 0)
    except (OSError, ValueError):
        return 0


def _apply_env(words: Sequence[str], environment: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
    """Return the words after a leading `env NAME=VALUE …` (else all words), and the environment with its variables."""
    left, given = list(words), dict(environment)
    if left and os.path.basename(left[0]) == "env":
        left.pop(0)
        while left and "=" in left[0]:
            name, _, value = left.pop(0).partition("=")
            given[name] = value
    return left, given
