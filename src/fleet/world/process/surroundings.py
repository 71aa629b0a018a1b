"""The surroundings of the caller: its environment, working directory, process and terminal.

For a command these are the process's own. The daemon answers for other processes, each request in a thread: there they
are what the caller sent, and what the kernel says about it. Whether an agent's process started the caller is read from
the environments of its parent processes (Linux).
"""

from __future__ import annotations

import os
from _thread import get_ident

from fleet.model import FLEET_DISPATCH_ID, FLEET_HOME, FLEET_RUNNER_OF

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


_MARKS = (f"{FLEET_DISPATCH_ID}=".encode(), f"{FLEET_RUNNER_OF}=".encode())
_DEEPEST = 64
_CHUNK = 1 << 16


class Surroundings:
    """The environment, working directory, pid and terminal width of the process that makes a request."""

    __slots__ = ("columns", "directory", "environ", "is_confined", "marks", "pid")

    def __init__(
        self,
        *,
        environ: Mapping[str, str],
        directory: str | None = None,
        pid: int = 0,
        columns: int = 0,
        is_confined: bool = False,
        marks: dict[str, list[str]] | None = None,
    ) -> None:
        self.environ = environ
        # Whether the asker is an agent that has only the daemon's socket for agents.
        self.is_confined = is_confined
        # None when it was removed, or is not known.
        self.directory = directory
        # 0 when the kernel does not name the process.
        self.pid = pid
        # The width of the asker's terminal; 0 when its output goes elsewhere.
        self.columns = columns
        # By home, the marks of the process and of its parents that were read so far. All requests of a connection share them; no two
        # connections do, because the kernel may give the process's id to another process.
        self.marks: dict[str, list[str]] = {} if marks is None else marks


# By home: this process, its parent, and the marks above it. They are kept, since a process's ancestors stay the same while its
# parent lives.
_OWN_MARKS: dict[str, tuple[int, int, list[str]]] = {}
# The asker of each thread that answers for another process.
_ASKERS: dict[int, Surroundings] = {}


def asker() -> Surroundings | None:
    """Return the surroundings of the process for which this thread answers; None when this process asks for itself."""
    return _ASKERS.get(get_ident()) if _ASKERS else None


def environ() -> Mapping[str, str]:
    """Return the environment of the caller."""
    other = asker()
    return os.environ if other is None else other.environ


def directory() -> str | None:
    """Return the working directory of the caller with symlinks resolved; None when it was removed or is unknown."""
    other = asker()
    if other is not None:
        return other.directory
    try:
        return os.path.realpath(os.getcwd())
    except FileNotFoundError:
        return None


def enter(other: Surroundings) -> None:
    """Let the functions of this module answer about another process, for this thread only, until `leave` is called.

    The daemon calls this for the process that sent a request.
    """
    _ASKERS[get_ident()] = other


def leave() -> None:
    """Let the functions of this module answer about this process again, for this thread."""
    _ASKERS.pop(get_ident(), None)


def marks_above(home: str) -> list[str]:
    """Return which dispatches and jobs of this home started the caller, by its parents' environments; nearest first.

    Each is a dispatch id, or `job ID` for a job. For a caller through the daemon, its own environment counts too.
    """
    other = asker()
    if other is not None:
        if home not in other.marks:
            other.marks[home] = _marks_from(other.pid, home)
        return other.marks[home]
    process, parent = os.getpid(), os.getppid()
    known = _OWN_MARKS.get(home)
    if known is None or known[:2] != (process, parent):
        known = _OWN_MARKS[home] = (process, parent, _marks_from(parent, home))
    return known[2]


def _marks_from(pid: int, home: str) -> list[str]:
    """Return the marks of a process and of its parent processes, nearest first."""
    found: list[str] = []
    place = f"{FLEET_HOME}={home}".encode()
    for _ in range(_DEEPEST):
        if pid <= 1:
            break
        told = _environment_of_process(pid)
        for mark in _MARKS if place in told else ():
            found += [_name_of_mark(mark, entry) for entry in told if entry.startswith(mark) and len(entry) > len(mark)]
        pid = _parent_of_process(pid)
    return found


def _name_of_mark(mark: bytes, entry: bytes) -> str:
    """Return the dispatch id, or `job ID`, that an environment entry names."""
    ident = entry[len(mark) :].decode("ascii", "replace")
    return ident if mark == _MARKS[0] else f"job {ident}"


def _environment_of_process(pid: int) -> list[bytes]:
    """Return the entries (NAME=VALUE) of a process's environment; empty when it cannot be read."""
    try:
        return _read(f"/proc/{pid}/environ").split(b"\0")
    except OSError:  # another user's, gone, or a system without /proc
        return []


def _parent_of_process(pid: int) -> int:
    """Return the pid of a process's parent; 0 when it cannot be read."""
    try:
        return int(_read(f"/proc/{pid}/stat").rpartition(b")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return 0


def _read(path: str) -> bytes:
    """Return the content of a file in /proc. A file object would need twice as many system calls."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        found = b""
        while more := os.read(handle, _CHUNK):
            found += more
        return found
    finally:
        os.close(handle)
