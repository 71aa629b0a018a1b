"""Kernel locks on files, the one place that calls flock: freed when the last holder dies, whatever it died of.

Lock files are not unlinked while somebody may use them. After locking, path and descriptor must be the same inode, else the file
was replaced under us and we try again. A program that inherits the descriptor goes on holding the lock.

The store's queue of writers is on the hot path. The kernel wakes blocked writers in turn, so none starves, which SQLite's own
busy handler cannot promise. A time limit needs the alarm clock, because polling would lose the turn.
"""

from __future__ import annotations

import errno
import fcntl
import os
from time import monotonic, sleep, time_ns

from fleet.fast import alarm

# Whoever only looks whether a lock is free holds it for no longer.
A_MOMENT = 0.25
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
    """The lock of one file. Another object on the same path, of this process too, is a contender like any other."""

    __slots__ = ("_flags", "_kind", "fd", "path")

    def __init__(self, path: str, *, shared: bool = False, create: bool = True) -> None:
        self.path = path
        self.fd = -1  # for programs that are to inherit the lock
        self._kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        flags = (os.O_RDONLY if shared else os.O_RDWR) | (os.O_CREAT if create else 0)
        self._flags = flags | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK

    def take(self, seconds: float | None = A_MOMENT) -> int:
        """Lock the file that has this path, and return its descriptor. None waits without end.

        BlockingIOError: somebody else held it for so many seconds.
        """
        try:
            for _ in range(_REPLACED_OFTEN):
                self.fd = self.fd if self.fd >= 0 else self._open()
                if not (self._try() or self._wait(seconds)):
                    break
                if is_same_file(self.path, self.fd):
                    return self.fd
                self.give()
        except BaseException:
            self.give()
            raise
        self.give()
        raise BlockingIOError(errno.EAGAIN, "somebody else holds it", self.path)

    def give(self) -> None:
        """Close the file. The lock is free when nobody who inherited it is left. Safe when it is not held."""
        if self.fd >= 0:
            fd, self.fd = self.fd, -1
            os.close(fd)

    def is_free(self) -> bool:
        """Whether nobody holds it. A file that is missing is free; one that cannot be opened is not."""
        probe = FileLock(self.path, shared=self._kind == fcntl.LOCK_SH, create=False)
        try:
            probe.take(0)
        except FileNotFoundError:
            return True
        except OSError:
            return False
        finally:
            probe.give()
        return True

    def _open(self) -> int:
        try:
            return os.open(self.path, self._flags, _MODE)
        except FileNotFoundError:
            if not self._flags & os.O_CREAT:
                raise
        from fleet.world.files import folders  # noqa: PLC0415 - only the first lock of a folder needs it

        folders.make(os.path.dirname(self.path))
        return os.open(self.path, self._flags, _MODE)

    def _try(self) -> bool:
        try:
            fcntl.flock(self.fd, self._kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _wait(self, seconds: float | None) -> bool:
        if seconds is None:
            fcntl.flock(self.fd, self._kind)
            return True
        if seconds <= 0:
            return False
        try:
            before = alarm.signal(alarm.SIGALRM, _ring)
        except ValueError:  # not the main thread, which alone hears the alarm clock
            return self._poll(seconds)
        try:
            return self._block(seconds)
        except Alarm:
            fcntl.flock(self.fd, fcntl.LOCK_UN)  # it may have come with the very last tick
            return False
        finally:
            alarm.signal(alarm.SIGALRM, before)

    def _block(self, seconds: float) -> bool:
        started = monotonic()
        rest, _again = alarm.setitimer(alarm.ITIMER_REAL, seconds)
        try:
            fcntl.flock(self.fd, self._kind)
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


class WriterLock(FileLock):
    """The store's queue of writers: locked and unlocked many times, and it says who was the last. It never makes the home."""

    __slots__ = ()

    def take(self, seconds: float | None = A_MOMENT) -> int:
        """Lock it, and write down who holds it."""
        super().take(seconds)
        self._write(_HOLDER % os.getpid(), 0)
        return self.fd

    def unlock(self) -> None:
        """Let the next one in, and keep the file open."""
        fcntl.flock(self.fd, fcntl.LOCK_UN)

    def note(self, *numbers: int) -> None:
        """Write four numbers into the file, for whoever opens the store next. They hold for this very file, not for copies."""
        self._write(_NOTE % (os.fstat(self.fd).st_ino, time_ns(), *numbers), _NOTE_AT)

    def holder(self) -> str:
        """Who locked it last, for people; decides nothing."""
        try:
            with open(self.path, "rb") as file:
                text = file.read(20).strip()
        except OSError:
            text = b""
        return f"process {text.decode()}" if text.isdigit() else "an unknown process"

    def _open(self) -> int:
        return os.open(self.path, self._flags, _MODE)

    def _write(self, text: bytes, at: int) -> None:
        try:  # noqa: SIM105 - contextlib costs
            os.pwrite(self.fd, text, at)
        except OSError:
            pass  # the disk is full; who holds it is for people, and without the note one thing less is checked


def lock_open_file(fd: int) -> None:
    """Lock a file that is open, waiting without end. OSError where the file system has no locks."""
    fcntl.flock(fd, fcntl.LOCK_EX)


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
        there = os.lstat(path)
    except FileNotFoundError:
        return False
    ours = os.fstat(fd)
    return (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino)


def _ring(_signum: int, _frame: object) -> None:
    raise Alarm
