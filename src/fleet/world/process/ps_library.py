"""Ask psutil about processes, on systems without /proc. Only this file imports psutil; ps.py calls it on macOS.

A start time is the kernel's own record of it, in microseconds. psutil's public `create_time` is not used: it follows
changes of the system's clock, so the same process would seem to have another start time and be taken for dead.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any

import psutil

if TYPE_CHECKING:
    from collections.abc import Iterator

_MICROSECONDS = 1_000_000
# What `everyone` returns of a process.
Found = tuple[int, int, int, bool, str, bool]


class Unknown(Exception):
    """The kernel did not tell the state of a process."""


def start_of(process: psutil.Process) -> str:
    """Return the start time of a process, in microseconds, as a text that stays the same while the process lives."""
    inner: Any = process._proc  # type: ignore[attr-defined]  # noqa: SLF001 - the public method follows the system's clock
    return str(round(inner.create_time(monotonic=True) * _MICROSECONDS))


@contextlib.contextmanager
def _refusing() -> Iterator[None]:
    """Turn every error except psutil.NoSuchProcess into Unknown, because it does not prove that the process is gone.

    AttributeError and TypeError, too: another version of psutil may not have the private method of `start_of`.
    """
    try:
        yield
    except psutil.NoSuchProcess:  # or its subclass ZombieProcess
        raise
    except (psutil.Error, OSError, AttributeError, TypeError) as error:
        raise Unknown(str(error)) from error


def status(pid: int) -> tuple[str, bool] | None:
    """Return the start time of the process that has a pid, and whether the process is dead but not yet reaped.

    The start time is "" for a zombie that does not tell it. None when no process has the pid. Raise Unknown when the
    kernel does not tell.
    """
    try:
        with _refusing():
            process = psutil.Process(pid)
            return start_of(process), process.status() in {psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD}
    except psutil.ZombieProcess:
        return "", True
    except psutil.NoSuchProcess:
        return None


def parents() -> dict[int, int]:
    """Return the parent's pid of every pid. Processes that cannot be read are left out."""
    found = {}
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            found[process.pid] = process.ppid()
    return found


def everyone() -> list[Found]:
    """Return every living process: pid, parent, session, whether it has a terminal, start time, whether it is stopped.

    The start time is empty when psutil does not tell it. Processes that cannot be read are left out.
    """
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):  # it is gone, or hidden
            state = process.status()
            if state not in {psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD}:
                session, has_terminal = os.getsid(process.pid), process.terminal() is not None
                stopped = state == psutil.STATUS_STOPPED
                found.append((process.pid, process.ppid(), session, has_terminal, _start_or_empty(process), stopped))
    return found


def _start_or_empty(process: psutil.Process) -> str:
    """Return the start time of a process; empty when this version of psutil does not tell it."""
    with contextlib.suppress(AttributeError, TypeError):
        return start_of(process)
    return ""


def environment(pid: int) -> frozenset[bytes]:
    """Return the environment that a process of this user was started with; empty where it cannot be read."""
    with contextlib.suppress(psutil.Error, OSError):
        return frozenset(os.fsencode(f"{name}={value}") for name, value in psutil.Process(pid).environ().items())
    return frozenset()


def command(pid: int) -> str:
    """Return the command line of a process; empty where it cannot be read."""
    with contextlib.suppress(psutil.Error, OSError):
        return " ".join(psutil.Process(pid).cmdline()).encode(errors="replace").decode().strip()
    return ""


def program(pid: int) -> str:
    """Return the short name of a process; empty where it cannot be read."""
    with contextlib.suppress(psutil.Error, OSError):
        return psutil.Process(pid).name()
    return ""


def is_own(pid: int) -> bool:
    """Return whether a process belongs to this user; False when it is gone or cannot be read."""
    with contextlib.suppress(psutil.Error, OSError):
        return bool(psutil.Process(pid).uids().real == os.getuid())
    return False


def place(pid: int) -> str | None:
    """Return the current directory of a process; empty when the process is gone, None when not permitted to look."""
    try:
        return str(psutil.Process(pid).cwd())
    except psutil.NoSuchProcess:
        return ""
    except (psutil.Error, OSError):
        return None


def open_files(pid: int) -> list[str]:
    """Return the regular files that a process has open, also those for reading only: macOS does not distinguish them."""
    with contextlib.suppress(psutil.Error, OSError):
        return [each.path for each in psutil.Process(pid).open_files()]
    return []
