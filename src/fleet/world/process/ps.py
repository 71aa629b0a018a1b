"""Ask the kernel about processes: /proc on Linux, psutil on macOS (see ps_library)."""

from __future__ import annotations

import errno
import os
import sys
from time import clock_gettime, sleep

from fleet.fast import contextlib, signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

# The module to ask instead of /proc; psutil is installed only on macOS.
_library: ModuleType | None = None
if sys.platform == "darwin":
    from fleet.world.process import ps_library

    _library = ps_library
if sys.platform == "linux":
    from time import CLOCK_BOOTTIME

_LOOKS = 50
_BETWEEN_LOOKS = 0.001
_ENDED = frozenset({"Z", "X", "x"})
_STOPPED = "T"
_KERNEL = 0x00200000  # the flag of a thread of the kernel's own
# Large enough to read /proc/PID/stat in one call.
_LONGEST_STAT = 1 << 14


class Status:
    """The start time of a process, and whether it is a zombie.

    A start time is a text that stays the same while the process lives: a number of the kernel's, on Linux in clock
    ticks since the boot, on macOS in microseconds. It is "" when it is not known.
    """

    __slots__ = ("start", "zombie")

    def __init__(self, start: str, zombie: bool) -> None:  # noqa: FBT001 - as psutil's file returns it
        self.start = start
        self.zombie = zombie


class ProcessEntry:
    """A living process in the list of all processes."""

    __slots__ = ("parent", "pid", "session", "start", "stopped", "terminal")

    def __init__(  # noqa: PLR0917 - there is one for each process of the machine
        self,
        pid: int,
        parent: int,
        session: int,
        terminal: bool,  # noqa: FBT001 - as psutil's file returns it
        start: str,
        stopped: bool = False,  # noqa: FBT001, FBT002
    ) -> None:
        self.pid = pid
        self.parent = parent
        self.session = session
        # Whether a terminal controls it.
        self.terminal = terminal
        # Its start time, as in Status.
        self.start = start
        # Whether a signal has stopped it (SIGSTOP, SIGTSTP); a debugger's stop does not count.
        self.stopped = stopped

    def is_since(self, start: int) -> bool:
        """Return whether the process started at that time or later; True when its start time is not known.

        `start` is a start time as a number, in the unit of this system (see Status).
        """
        return not self.start.isdigit() or int(self.start) >= start


class Unreadable(Exception):
    """The kernel did not tell the state of a process."""


def handle_of(pid: int) -> int | None:
    """Return a descriptor that stays with the process that has the pid now (pidfd); None where the kernel has none.

    Raise ProcessLookupError when no process has the pid. The caller closes the descriptor.
    """
    try:
        return os.pidfd_open(pid) if hasattr(os, "pidfd_open") else None
    except OSError as error:
        if error.errno in {errno.ENOSYS, errno.EPERM}:
            return None
        raise


def own_pid() -> int:
    """Return the pid of this process."""
    return os.getpid()


def deliver(pid: int, number: int, is_meant: Callable[[], bool]) -> bool:
    """Send a signal to a pid if `is_meant` confirms that it is still the pid of the right process.

    Where the kernel has pidfds, `is_meant` is called after the pidfd was opened, so that the signal cannot reach
    another process. Return whether the signal was sent: not when `is_meant` says no, the process is gone, or this user
    may not signal it.
    """
    try:
        handle = handle_of(pid)
    except OSError:
        return False
    try:
        if not is_meant():
            return False
        if handle is None:
            os.kill(pid, number)
        else:
            signal.pidfd_send_signal(handle, number)
    except (ProcessLookupError, PermissionError):
        return False
    finally:
        if handle is not None:
            os.close(handle)
    return True


def age(start: str) -> float:
    """Return how many seconds ago a process with this start time began; infinity where the kernel does not say."""
    if sys.platform != "linux" or not start.isdigit():
        return float("inf")
    return clock_gettime(CLOCK_BOOTTIME) - int(start) / os.sysconf("SC_CLK_TCK")


def status(pid: int) -> Status | None:
    """Return the status of the process that has a pid; None when there is none.

    Raise Unreadable when the kernel does not tell.
    """
    if _library is None:
        return _status_of_linux(pid)
    try:
        found = _library.status(pid)
    except _library.Unknown as error:
        raise Unreadable(str(error)) from error
    return found and Status(*found)


def parents() -> dict[int, int]:
    """Return the parent's pid of every pid, zombies included. Processes that cannot be read are left out."""
    return _parents_of_linux() if _library is None else dict(_library.parents())


def everyone() -> list[ProcessEntry]:
    """Return every living process except the kernel's own. Zombies and processes that cannot be read are left out."""
    return _everyone_of_linux() if _library is None else [ProcessEntry(*each) for each in _library.everyone()]


def is_seen(pid: int, start: str) -> bool:
    """Return whether a process with this pid and start time may live in this pid namespace or in one inside it.

    True when the kernel does not tell.
    """
    try:
        found = status(pid)
    except Unreadable:
        return True
    if found is not None and not found.zombie and found.start == start:
        return True
    return any(entry.start == start and pid in _inner_pids(entry.pid) for entry in everyone())


def _inner_pids(pid: int) -> list[int]:
    """Return the pids that a process has in its own pid namespace and in those around it; [] when it cannot be read."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
            return [int(each) for line in file if line.startswith("NSpid:") for each in line.split()[1:]]
    except OSError:
        return []


def environment(pid: int) -> frozenset[bytes]:
    """Return the environment (entries NAME=VALUE) that a process of this user was started with.

    Without any variable when it cannot be read, or when the process is another user's.
    """
    if _library is not None:
        return frozenset(_library.environment(pid))
    for _ in range(_LOOKS):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                told = file.read() if os.fstat(file.fileno()).st_uid == os.getuid() else b"-"
        except OSError:
            return frozenset()
        if told or not _is_becoming(pid):
            break
        sleep(_BETWEEN_LOOKS)
    return frozenset(told.split(b"\0"))


def _is_becoming(pid: int) -> bool:
    """Return whether a process is in the middle of an exec: its environment and command line are empty for a moment."""
    try:
        fields = _stat_fields(pid)
    except Unreadable:
        return False
    if fields is None or fields[0] in _ENDED or int(fields[6]) & _KERNEL:
        return False
    return command(pid) == ""


def command(pid: int) -> str:
    """Return the command line of a process; empty where it cannot be read."""
    if _library is not None:
        return str(_library.command(pid))
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().replace(b"\0", b" ").decode("utf-8", "replace").strip()
    except OSError:
        return ""


def program(pid: int) -> str:
    """Return the short name of a process; empty where it cannot be read."""
    if _library is not None:
        return str(_library.program(pid))
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""


def is_own(pid: int) -> bool:
    """Return whether a process belongs to this user, also where this user may not inspect it; False when it is gone."""
    if _library is not None:
        return bool(_library.is_own(pid))
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
            return any(line.startswith("Uid:") and int(line.split()[1]) == os.getuid() for line in file)
    except OSError:
        return False


def works_in(pid: int, folder: str) -> bool | None:
    """Return whether a process has its current directory in a folder or below it, or a file open there for writing.

    None when this user is not permitted to look; False when the process is gone. On macOS any open file counts.
    """
    top = f"{os.path.realpath(folder)}/"
    place = _directory_of_process(pid)
    if place is None:
        return None
    return f"{place}/".startswith(top) or any(path.startswith(top) for path in _written_files(pid))


def _written_files(pid: int) -> list[str]:
    """Return the paths of the files that a process has open for writing, as far as this user may look.

    On macOS those open for reading are among them.
    """
    if _library is not None:
        return list(_library.open_files(pid))
    found = []
    with contextlib.suppress(OSError):  # it is gone
        for name in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError, ValueError, IndexError):  # it is closed
                path = os.readlink(f"/proc/{pid}/fd/{name}")
                if path.startswith("/") and _open_flags(pid, name) & os.O_ACCMODE != os.O_RDONLY:
                    found.append(path)
    return found


def _open_flags(pid: int, name: str) -> int:
    """Return the flags with which a descriptor of a process was opened; `name` is the descriptor's number."""
    with open(f"/proc/{pid}/fdinfo/{name}", encoding="ascii") as file:
        return int(next(line for line in file if line.startswith("flags:")).split()[1], 8)


def holders(path: str) -> list[int] | None:
    """Return the pids that have a file open, as far as this user may look; None where the system cannot tell.

    [] also when there is no such file. Files are compared by inode, because their paths differ between mount
    namespaces.
    """
    if _library is not None:
        return None
    try:
        wanted = os.stat(path)
    except OSError:
        return []
    return [pid for pid in _parents_of_linux() if _has_open(pid, wanted)]


def inheritors(path: str) -> list[int]:
    """Return the pids that hold the lock of a file, through a descriptor that they locked or inherited.

    A process that only has the file open does not count. [] on systems where the kernel does not tell.
    """
    if _library is not None:
        return []
    wanted = os.path.realpath(path)
    return [pid for pid in _parents_of_linux() if _holds_lock(pid, wanted)]


def _holds_lock(pid: int, path: str) -> bool:
    """Return whether a process holds the lock of the file at this path."""
    with contextlib.suppress(OSError):  # it is gone, or another user's
        for name in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(FileNotFoundError):
                if os.readlink(f"/proc/{pid}/fd/{name}") == path and _is_locked(pid, name):
                    return True
    return False


def _is_locked(pid: int, name: str) -> bool:
    """Return whether a descriptor of a process holds a lock; `name` is the descriptor's number.

    The kernel lists a lock only with the descriptors that share it.
    """
    with open(f"/proc/{pid}/fdinfo/{name}", encoding="utf-8", errors="replace") as file:
        return any(line.startswith("lock:") and " FLOCK " in line for line in file)


def running(program: str, *near: str) -> list[int] | None:
    """Return the pids of a program's processes that may have to do with one of the folders `near`.

    These processes work in or below such a folder, or name it in their arguments, or it cannot be seen whether they do.
    `program` is the short name. None where the system cannot list processes.
    """
    if _library is not None:
        return None
    tops = [os.path.realpath(each) for each in near]
    return [pid for pid in _parents_of_linux() if _is_called(pid, program) and _is_near(pid, tops)]


def _is_called(pid: int, name: str) -> bool:
    return program(pid) == name


def _is_near(pid: int, tops: list[str]) -> bool:
    """Return whether a process works in or below one of these folders, or names one in its arguments.

    True when that cannot be seen, as with a `--git-dir` in another mount namespace.
    """
    place, words = _directory_of_process(pid), command(pid)
    if place is None:
        return True
    if not _has_same_paths(pid):
        return "--git-dir" in words or _is_below(pid, tops)
    return any(f"{place}/".startswith(f"{top}/") or f"={top}" in words for top in tops)


def _is_below(pid: int, tops: list[str]) -> bool:
    """Return whether the current directory of a process is, or may be, one of the folders or below one.

    Folders are compared by inode, because their paths differ between mount namespaces.
    """
    wanted = [os.stat(top) for top in tops if os.path.isdir(top)]
    path, last = f"/proc/{pid}/cwd", None
    try:
        while last is None or not os.path.samestat(last, os.stat(path)):
            last = os.stat(path)
            if any(os.path.samestat(last, each) for each in wanted):
                return True
            path = f"{path}/.."
    except FileNotFoundError:
        return False  # it is gone
    except OSError:
        return True
    return False


def _has_same_paths(pid: int) -> bool:
    """Return whether a process is in this mount namespace, so that paths mean the same to it.

    True also for a process that is gone; False when that cannot be read.
    """
    try:
        return os.readlink(f"/proc/{pid}/ns/mnt") == os.readlink("/proc/self/ns/mnt")
    except FileNotFoundError:
        return True  # it is gone, or there is no such thing
    except OSError:
        return False


def _directory_of_process(pid: int) -> str | None:
    """Return the current directory of a process; empty when the process is gone, None when not permitted to look."""
    if _library is not None:
        place: str | None = _library.place(pid)
        return place
    try:
        return os.readlink(f"/proc/{pid}/cwd")
    except PermissionError:
        return None
    except OSError:
        return ""


def _has_open(pid: int, wanted: os.stat_result) -> bool:
    """Return whether a process has the file open whose status (of `os.stat`) is `wanted`."""
    with contextlib.suppress(OSError):  # it is gone, or another user's
        for name in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                if os.path.samestat(os.stat(f"/proc/{pid}/fd/{name}"), wanted):
                    return True
    return False


def _stat_fields(pid: int) -> list[str] | None:
    """Return the fields of /proc/PID/stat after the program's name; None when no process has the pid.

    Raise Unreadable when /proc hides the process.
    """
    try:
        # Not a file object, which makes three times as many calls of the system: there are hundreds of processes.
        handle = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
        try:
            return os.read(handle, _LONGEST_STAT).decode("utf-8", "replace").rpartition(")")[2].split()
        finally:
            os.close(handle)
    except (FileNotFoundError, ProcessLookupError) as error:
        if not _is_missing(pid):
            raise Unreadable(f"/proc hides process {pid}") from error
        return None
    except OSError as error:
        raise Unreadable(str(error)) from error


def _is_missing(pid: int) -> bool:
    """Return whether it is proven that no process has the pid; False when /proc may only hide it."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


def _status_of_linux(pid: int) -> Status | None:
    fields = _stat_fields(pid)
    if fields is None:
        return None
    return Status(start=fields[19], zombie=fields[0] in _ENDED)


def _parents_of_linux() -> dict[int, int]:
    """Return the parent's pid of every pid, from /proc."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                fields = _stat_fields(int(name))
            except Unreadable:
                continue
            if fields:
                found[int(name)] = int(fields[1])
    return found


def _everyone_of_linux() -> list[ProcessEntry]:
    """Return every living process except the kernel's own threads, from /proc."""
    found = []
    for name in os.listdir("/proc"):
        try:
            fields = _stat_fields(int(name)) if name.isdigit() else None
        except Unreadable:
            continue
        if fields and fields[0] not in _ENDED and not int(fields[6]) & _KERNEL:
            parent, session, terminal = int(fields[1]), int(fields[3]), fields[4] != "0"
            found.append(ProcessEntry(int(name), parent, session, terminal, fields[19], fields[0] == _STOPPED))
    return found
