"""Processes in a table, with the answers that `ps` gives about real ones."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fleet.world.process import ps

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fleet.testing.simulated.clock import SimulatedClock

HERTZ = 100
_UP = 100.0  # seconds from the boot to the first process of a test
FIRST = 1
_HARMLESS = frozenset({signal.SIGCHLD, signal.SIGCONT, signal.SIGWINCH, signal.SIGURG})


@dataclass(eq=False, kw_only=True)
class Process:
    """One process. A test changes what it likes; the table does what the kernel does."""

    pid: int
    parent: int
    session: int
    start: str
    words: tuple[str, ...]
    environment: dict[str, str]
    cwd: str
    # The control group that it is in; empty: none of ours.
    group: str = ""
    program: str = ""
    has_terminal: bool = False
    is_own: bool = True
    # The kernel does not say whether it lives: nobody can tell.
    is_hidden: bool = False
    # Its directory and files may not be looked at.
    is_closed: bool = False
    is_zombie: bool = False
    is_stopped: bool = False
    # It does not die of SIGKILL: it waits for a disk.
    is_unkillable: bool = False
    ignores: set[int] = field(default_factory=set)
    handlers: dict[int, Callable[[], None]] = field(default_factory=dict)
    writes: set[str] = field(default_factory=set)
    # Told when it has died, with its exit status and the signal that killed it, one of them None.
    mourners: list[Callable[[int | None, int | None], None]] = field(default_factory=list)

    def become(self, words: Sequence[str], environment: Mapping[str, str], cwd: str) -> None:
        """Exec: another program in the same process."""
        self.words, self.environment, self.cwd = tuple(words), dict(environment), cwd
        self.program = os.path.basename(words[0])[:15] if words else ""


class ProcessTable:
    """All processes of a machine since its boot. The first one is its init."""

    def __init__(self, clock: SimulatedClock) -> None:
        self._clock = clock
        self._booted = clock.ticks() - _UP
        self._last_start = 0
        self._next_pid = 1000
        self.living: dict[int, Process] = {}
        self.living[FIRST] = self._made(FIRST, 0, ("init",))

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
        """Start a process; with a pid, the kernel has come around to that number again."""
        above = self.living[parent]
        if pid in self.living:
            msg = f"process {pid} lives"
            raise ValueError(msg)
        if pid is None:
            self._next_pid += 1
            pid = self._next_pid
        made = self._made(pid, parent, words, environment or above.environment, cwd)
        made.session = made.pid if leads_session else above.session
        made.group, made.is_own = above.group, True
        made.has_terminal = above.has_terminal and not leads_session
        self.living[pid] = made
        return made

    def exit(self, process: Process, status: int = 0) -> None:
        """It ends by itself."""
        self._end(process, status, None)

    def signal(self, process: Process, number: int) -> None:
        """What the kernel does with a signal."""
        if number == signal.SIGKILL:
            if not process.is_unkillable:
                self._end(process, None, number)
        elif number == signal.SIGSTOP:
            process.is_stopped = True
        elif number == signal.SIGCONT:
            process.is_stopped = False
        elif number in process.handlers:
            process.handlers[number]()
        elif number not in process.ignores and number not in _HARMLESS and not process.is_stopped:
            self._end(process, None, number)

    def reap(self, process: Process) -> None:
        """Its parent has asked how it ended."""
        if self.living.get(process.pid) is process:
            del self.living[process.pid]

    def entries(self) -> list[Process]:
        """Those that are no zombies."""
        return [each for each in self.living.values() if not each.is_zombie]

    def age(self, start: str) -> float:
        """For how many seconds a process with this start time has lived."""
        return max(self._clock.ticks() - self._booted - int(start) / HERTZ, 0.0)

    def _made(
        self,
        pid: int,
        parent: int,
        words: Sequence[str],
        environment: Mapping[str, str] | None = None,
        cwd: str = "/",
    ) -> Process:
        # No two begin in the same moment: a number that is given out again always has another start time.
        self._last_start = max(self._last_start + 1, int((self._clock.ticks() - self._booted) * HERTZ))
        made = Process(
            pid=pid, parent=parent, session=pid, start=str(self._last_start), words=(), environment={}, cwd=cwd
        )
        made.become(words, environment or {}, cwd)
        made.is_own = pid != FIRST
        return made

    def _end(self, process: Process, status: int | None, number: int | None) -> None:
        if process.is_zombie or self.living.get(process.pid) is not process:
            return
        process.is_zombie = True
        for each in self.entries():
            if each.parent == process.pid:
                each.parent = FIRST
        for tell in process.mourners:
            tell(status, number)
        if not process.mourners:
            self.reap(process)
        if process.session == process.pid and process.has_terminal:
            self.hang_up(process.pid)

    def hang_up(self, session: int) -> None:
        """The terminal of a session is gone."""
        for each in self.entries():
            if each.session == session:
                self.signal(each, signal.SIGHUP)


class SimulatedKernel:
    """The table as one of its processes sees it."""

    def __init__(self, table: ProcessTable, pid: int) -> None:
        self._table = table
        self._pid = pid

    def own_pid(self) -> int:
        """The process that asks."""
        return self._pid

    def status(self, pid: int) -> ps.Status | None:
        """None when nobody has the pid; Unreadable when the kernel does not say."""
        process = self._table.living.get(pid)
        if process is None:
            return None
        if process.is_hidden:
            raise ps.Unreadable(f"/proc hides process {pid}")
        return ps.Status(start=process.start, zombie=process.is_zombie)

    def parents(self) -> dict[int, int]:
        """Every pid with its parent's."""
        return {each.pid: each.parent for each in self._table.living.values() if not each.is_hidden}

    def everyone(self) -> list[ps.Entry]:
        """Every living process that is not hidden."""
        seen = (each for each in self._table.entries() if not each.is_hidden)
        return [ps.Entry(each.pid, each.parent, each.session, each.has_terminal, each.start) for each in seen]

    def is_seen(self, pid: int, start: str) -> bool:
        """Whether a process that began then has this pid, or may have it."""
        process = self._table.living.get(pid)
        return process is not None and (process.is_hidden or (process.start == start and not process.is_zombie))

    def age(self, start: str) -> float:
        """How many seconds ago a process with this start time began."""
        return self._table.age(start)

    def environment(self, pid: int) -> frozenset[bytes]:
        """What a process was started with."""
        process = self._read(pid)
        return (
            frozenset(f"{name}={value}".encode() for name, value in process.environment.items())
            if process
            else frozenset()
        )

    def command(self, pid: int) -> str:
        """The words of a process."""
        process = self._table.living.get(pid)
        return " ".join(process.words) if process and not process.is_zombie else ""

    def program(self, pid: int) -> str:
        """The short name of a process."""
        process = self._table.living.get(pid)
        return process.program if process else ""

    def is_own(self, pid: int) -> bool:
        """Whether a process is of this user."""
        process = self._table.living.get(pid)
        return process is not None and process.is_own

    def works_in(self, pid: int, folder: str) -> bool | None:
        """Whether a process has its directory below a folder, or writes to a file there. None: it may not be looked at."""
        process = self._table.living.get(pid)
        if process is None:
            return False
        if process.is_closed:
            return None
        top = f"{os.path.realpath(folder)}/"
        return any(f"{path}/".startswith(top) for path in (process.cwd, *process.writes))

    def inheritors(self, _path: str) -> list[int]:
        """Locks are real: no simulated process has inherited one."""
        return []

    def deliver(self, pid: int, number: int, is_meant: Callable[[], bool]) -> bool:
        """Send a signal to the process that is meant. Whether it was there to get it."""
        process = self._table.living.get(pid)
        if process is None or not is_meant():
            return False
        self._table.signal(process, number)
        return True

    def _read(self, pid: int) -> Process | None:
        process = self._table.living.get(pid)
        return process if process and process.is_own and not process.is_zombie and not process.is_hidden else None
