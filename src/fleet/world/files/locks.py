"""Kernel locks on files: freed when the holder dies, whatever it died of.

This is the store's queue of writers, on the hot path: a plain flock, without the facts about the holder that gates keep. The
kernel wakes blocked writers in turn, so none starves, which SQLite's own busy handler cannot promise. A time limit needs
the alarm clock, because polling would lose the turn.
"""

from __future__ import annotations

import fcntl
import os
from time import monotonic, sleep, time_ns

from fleet.fast import alarm

_MODE = 0o600
_HOLDER = b"%-20d\n"
_NOTE_AT = 21  # behind the holder
_NOTE = b"%-20d %-20d %-20d %-20d %-20d %-20d\n"
_NOTE_SIZE = 126
# How far the clock of a note may be from that of its file.
_SAME_TIME = 2_000_000_000
_REPLACED_OFTEN = 20


class Alarm(BaseException):
    """The alarm clock rang."""


class FileLock:
    """One lock file, kept open; locked and unlocked many times."""

    __slots__ = ("_fd", "path")

    def __init__(self, path: str) -> None:
        self.path = path
        self._fd = _opened(path)

    def take(self, seconds: float) -> bool:
        """Lock it, waiting for at most so long. Says whether it is ours. A file that was replaced meanwhile is opened anew."""
        for _ in range(_REPLACED_OFTEN):
            if not (self._try() or self._wait(seconds)):
                return False
            if is_same_file(self.path, self._fd):
                break
            os.close(self._fd)
            self._fd = _opened(self.path)
        else:
            return False
        try:  # noqa: SIM105 - contextlib costs
            os.pwrite(self._fd, _HOLDER % os.getpid(), 0)
        except OSError:
            pass  # the disk is full; who holds it is for people, and decides nothing
        return True

    def give(self) -> None:
        """Unlock it."""
        fcntl.flock(self._fd, fcntl.LOCK_UN)

    def note(self, *numbers: int) -> None:
        """Write four numbers into the file, for whoever opens the store next. They hold for this very file, not for copies."""
        try:  # noqa: SIM105 - contextlib costs
            os.pwrite(self._fd, _NOTE % (os.fstat(self._fd).st_ino, time_ns(), *numbers), _NOTE_AT)
        except OSError:
            pass  # the disk is full; without the note one thing less is checked

    def holder(self) -> str:
        """Who locked it last, for people; decides nothing."""
        text = os.pread(self._fd, 20, 0).strip()
        return f"process {text.decode()}" if text.isdigit() else "an unknown process"

    def close(self) -> None:
        """Close the file, and so unlock it."""
        os.close(self._fd)

    def _try(self) -> bool:
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _wait(self, seconds: float) -> bool:
        if seconds <= 0:
            return False
        try:
            before = alarm.signal(alarm.SIGALRM, _ring)
        except ValueError:  # not the main thread, which alone hears the alarm clock
            return self._poll(seconds)
        try:
            return self._blocked(seconds)
        except Alarm:
            self.give()  # it may have come with the very last tick
            return False
        finally:
            alarm.signal(alarm.SIGALRM, before)

    def _blocked(self, seconds: float) -> bool:
        started = monotonic()
        rest, _again = alarm.setitimer(alarm.ITIMER_REAL, seconds)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX)
        finally:
            # Whoever had set the alarm clock gets it back.
            alarm.setitimer(alarm.ITIMER_REAL, max(rest - (monotonic() - started), 0.001) if rest else 0)
        return True

    def _poll(self, seconds: float) -> bool:
        until = monotonic() + seconds
        while not self._try():
            if monotonic() > until:
                return False
            sleep(0.002)
        return True


def _opened(path: str) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, _MODE)


def noted_in(path: str) -> list[int]:
    """The numbers that were last written into a lock file; none when it is a copy, or has none."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return []
    try:
        of_file, at, *numbers = (int(each) for each in os.pread(handle, _NOTE_SIZE, _NOTE_AT).split())
        found = os.fstat(handle)
    except (OSError, ValueError):
        return []
    finally:
        os.close(handle)
    # A copy may get the number of the file that it copies. Writing sets both times to one moment; copying does not.
    original = found.st_ctime_ns == found.st_mtime_ns and abs(found.st_mtime_ns - at) < _SAME_TIME
    return numbers if original and of_file == found.st_ino else []


def is_same_file(path: str, fd: int) -> bool:
    """Whether an open file is the one that has this name."""
    try:
        there = os.stat(path)
    except FileNotFoundError:
        return False
    ours = os.fstat(fd)
    return (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino)


def _ring(_signum: int, _frame: object) -> None:
    raise Alarm
