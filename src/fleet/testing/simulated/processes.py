"""A table of simulated processes, which answers as `ps` does for real ones."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fleet.world.process import ps

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fleet.testing.simulated.clock import SimulatedClock

HERTZ = 100  # the ticks in a second, in which start times are counted
_UP = 100.0  # seconds from the boot to the first process of a test
FIRST = 1  # the pid of init
# The signals that do not end a process that has no handler for them.
_HARMLESS = frozenset({signal.SIGCHLD, signal.SIGCONT, signal.SIGWINCH, signal.SIGURG})


@dataclass(eq=False, kw_only=True)
class Process:
    """One simulated process. A test may change its fields; the table reacts as the kernel does."""

    pid: int
    parent: int
    session: int
    # When the process started, in ticks since the boot.
    start: str
    words: tuple[str, ...]
    environment: dict[str, str]
    cwd: str
    # The control group of the process; empty when it is in none of fleet's.
    group: str = ""
    program: str = ""
    has_terminal: bool = False
    # The process belongs to the user of fleet.
    is_own: bool = True
    # The kernel does not say whether the process lives.
    is_hidden: bool = False
    # The working directory and the open files of the process cannot be read.
    is_closed: bool = False
    is_zombie: bool = False
    is_stopped: bool = False
    # The signals that a stopped process gets when SIGCONT lets it continue.
    pending: list[int] = field(default_factory=list)
    # SIGKILL does not end the process, as when it waits for a disk.
    is_unkillable: bool = False
    # The signals that the process ignores, and those for which it calls a function.
    ignores: set[int] = field(default_factory=set)
    handlers: dict[int, Callable[[], None]] = field(default_factory=dict)
    # The files that the process has open for writing.
    writes: set[str] = field(default_factory=set)
    # Called at the death of the process, with its exit status and the signal that killed it; one of them is None.
    on_death: list[Callable[[int | None, int | None], None]] = field(default_factory=list)

    def become(self, words: Sequence[str], environment: Mapping[str, str], cwd: str) -> None:
        """Replace the program of this process, as exec does."""
        self.words, self.environment, self.cwd = tuple(words), dict(environment), cwd
        self.program = os.path.basename(words[0])[:15] if words else ""


class ProcessTable:
    """The processes of a machine from one boot to the next, the first of which is init.

    `living` has them by pid, zombies among them.
    """

    def __init__(self, clock: SimulatedClock) -> None:
        self._clock = clock
        self._booted = clock.ticks() - _UP
        self._last_start = 0
        self._next_pid = 1000
        self.living: dict[int, Process] = {}
        self.living[FIRST] = self._new_process(FIRST, 0, ("init",))

    def spawn(
        self,
        parent: int,
        words: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        cwd: str = "/",
        leads_session: bool = False,
        pid: int | None = None,
    ) -> Process:
        """Start a process below the process `parent` and return it.

        With `pid` it gets that number, which a dead process may have had before; raise ValueError when a living process
        or a zombie has it. Without `environment`, or with an empty one, it has the environment of its parent.
        """
        above = self.living[parent]
        if pid in self.living:
            msg = f"process {pid} lives"
            raise ValueError(msg)
        if pid is None:
            self._next_pid += 1
            pid = self._next_pid
        process = self._new_process(pid, parent, words, environment or above.environment, cwd)
        process.session = process.pid if leads_session else above.session
        process.group, process.is_own = above.group, True
        process.has_terminal = above.has_terminal and not leads_session
        self.living[pid] = process
        return process

    def exit(self, process: Process, status: int = 0) -> None:
        """End a process with an exit status."""
        self._end(process, status, None)

    def signal(self, process: Process, number: int) -> None:
        """Do to a process what the kernel does at this signal: stop, continue or end it, or call its handler.

        A stopped process gets signals other than SIGKILL when it continues. Nothing happens to a zombie, nor to a
        process that is no longer in the table.
        """
        if process.is_zombie or self.living.get(process.pid) is not process:
            return
        if number == signal.SIGKILL:
            if not process.is_unkillable:
                self._end(process, None, number)
        elif number == signal.SIGSTOP:
            process.is_stopped = True
        elif number == signal.SIGCONT:
            process.is_stopped = False
            waiting = [*process.pending, number]
            process.pending.clear()
            for each in waiting:
                self._deliver(process, each)
        elif process.is_stopped:
            process.pending.append(number)
        else:
            self._deliver(process, number)

    def _deliver(self, process: Process, number: int) -> None:
        """Call the handler of a running process for a signal, or end it when it has none and does not ignore the signal."""
        if process.is_zombie:
            return
        if number in process.handlers:
            process.handlers[number]()
        elif number not in process.ignores and number not in _HARMLESS:
            self._end(process, None, number)

    def reap(self, process: Process) -> None:
        """Remove a process from the table, because its parent has read its exit status; do nothing if it is gone."""
        if self.living.get(process.pid) is process:
            del self.living[process.pid]

    def entries(self) -> list[Process]:
        """Return all processes that are not zombies."""
        return [each for each in self.living.values() if not each.is_zombie]

    def age(self, start: str) -> float:
        """Return how many seconds a process with this start time has lived."""
        return max(self._clock.ticks() - self._booted - int(start) / HERTZ, 0.0)

    def _new_process(
        self,
        pid: int,
        parent: int,
        words: Sequence[str],
        environment: Mapping[str, str] | None = None,
        cwd: str = "/",
    ) -> Process:
        """Return a process with its own start time; it is not in the table yet."""
        # No two processes have the same start time, so a pid that is used again has another one.
        self._last_start = max(self._last_start + 1, int((self._clock.ticks() - self._booted) * HERTZ))
        process = Process(
            pid=pid, parent=parent, session=pid, start=str(self._last_start), words=(), environment={}, cwd=cwd
        )
        process.become(words, environment or {}, cwd)
        process.is_own = pid != FIRST
        return process

    def _end(self, process: Process, status: int | None, number: int | None) -> None:
        """End a process by the exit status `status` or the signal `number`, of which the other is None.

        Its children go to init, its `on_death` is called, and if it led a session with a terminal, that session is hung
        up. It stays as a zombie until `reap`; without `on_death` it is reaped at once. A dead process is left as it is.
        """
        if process.is_zombie or self.living.get(process.pid) is not process:
            return
        process.is_zombie = True
        for each in self.entries():
            if each.parent == process.pid:
                each.parent = FIRST
        for tell in process.on_death:
            tell(status, number)
        if not process.on_death:
            self.reap(process)
        if process.session == process.pid and process.has_terminal:
            self.hang_up(process.pid)

    def hang_up(self, session: int) -> None:
        """Send SIGHUP to all processes of a session, because its terminal is gone."""
        for each in self.entries():
            if each.session == session:
                self.signal(each, signal.SIGHUP)


class SimulatedKernel:
    """The process table, as one of its processes sees it."""

    def __init__(self, table: ProcessTable, pid: int) -> None:
        self._table = table
        self._pid = pid

    def own_pid(self) -> int:
        """Return the pid of the process that asks."""
        return self._pid

    def status(self, pid: int) -> ps.Status | None:
        """Return the status of a process; None when no process has the pid. Raise Unreadable for a hidden process."""
        process = self._table.living.get(pid)
        if process is None:
            return None
        if process.is_hidden:
            raise ps.Unreadable(f"/proc hides process {pid}")
        return ps.Status(start=process.start, zombie=process.is_zombie)

    def parents(self) -> dict[int, int]:
        """Return the parent's pid of every process that is not hidden, by pid."""
        return {each.pid: each.parent for each in self._table.living.values() if not each.is_hidden}

    def everyone(self) -> list[ps.ProcessEntry]:
        """Return every living process that is not hidden."""
        seen = (each for each in self._table.entries() if not each.is_hidden)
        return [
            ps.ProcessEntry(each.pid, each.parent, each.session, each.has_terminal, each.start, each.is_stopped)
            for each in seen
        ]

    def is_seen(self, pid: int, start: str) -> bool:
        """Return whether a process with this pid and start time lives, or may live because the pid is hidden."""
        process = self._table.living.get(pid)
        return process is not None and (process.is_hidden or (process.start == start and not process.is_zombie))

    def age(self, start: str) -> float:
        """Return how many seconds a process with this start time has lived."""
        return self._table.age(start)

    def environment(self, pid: int) -> frozenset[bytes]:
        """Return the environment of a process; empty when it cannot be read."""
        process = self._read(pid)
        return (
            frozenset(f"{name}={value}".encode() for name, value in process.environment.items())
            if process
            else frozenset()
        )

    def command(self, pid: int) -> str:
        """Return the command line of a process; empty when it is dead."""
        process = self._table.living.get(pid)
        return " ".join(process.words) if process and not process.is_zombie else ""

    def program(self, pid: int) -> str:
        """Return the short program name of a process; empty when no process has the pid."""
        process = self._table.living.get(pid)
        return process.program if process else ""

    def is_own(self, pid: int) -> bool:
        """Return whether a process belongs to this user; False when no process has the pid."""
        process = self._table.living.get(pid)
        return process is not None and process.is_own

    def works_in(self, pid: int, folder: str) -> bool | None:
        """Return whether a process has its current directory in a folder, or writes to a file there.

        Return False when no process has the pid, None when the process cannot be read.
        """
        process = self._table.living.get(pid)
        if process is None:
            return False
        if process.is_closed:
            return None
        top = f"{os.path.realpath(folder)}/"
        return any(f"{path}/".startswith(top) for path in (process.cwd, *process.writes))

    def inheritors(self, _path: str) -> list[int]:
        """Return no pids: locks are real, and no simulated process has inherited one."""
        return []

    def handle_of(self, pid: int) -> int | None:
        """Return None: this kernel has no pidfds."""

    def deliver(self, pid: int, number: int, is_meant: Callable[[], bool]) -> bool:
        """Send a signal to a process if `is_meant` confirms it; return whether it was sent."""
        process = self._table.living.get(pid)
        if process is None or not is_meant():
            return False
        self._table.signal(process, number)
        return True

    def _read(self, pid: int) -> Process | None:
        """Return the process with this pid if its environment can be read; else None."""
        process = self._table.living.get(pid)
        return process if process and process.is_own and not process.is_zombie and not process.is_hidden else None
