"""Kernel locks on files. Only this module calls flock. The kernel frees a lock when its last holder dies.

Lock files are not unlinked while somebody may use them. After locking, path and descriptor must be the same inode;
otherwise the file was replaced, and the new file is locked. A program that inherits the descriptor holds the lock too.

The lock of the store's writers is on the hot path. The kernel wakes waiting writers in turn, so that none starves;
SQLite's own busy handler cannot promise that. A time limit needs SIGALRM, because polling would lose the turn.
"""

from __future__ import annotations

import errno
import fcntl
import os
from time import monotonic, sleep, time_ns

from fleet.fast import alarm

# A process that only checks whether a lock is free holds the lock for less than this time.
A_MOMENT = 0.25
_MODE = 0o600
_HOLDER = b"%-20d\n"
_NOTE_AT = 21  # after the holder
_NOTE = b"%-20d %-20d %-20d %-20d %-20d %-20d\n"
_NOTE_SIZE = 126
# How many nanoseconds the time in a note may differ from the time of its file.
_SAME_TIME = 2_000_000_000
_REPLACED_OFTEN = 20


class Alarm(BaseException):
    """SIGALRM came: the time limit of a lock is over."""


class FileLock:
    """The lock on one file. Another object on the same path competes for it, also in the same process."""

    __slots__ = ("_flags", "_home", "_kind", "fd", "path")

    def __init__(self, path: str, *, home: str = "", shared: bool = False, create: bool = True) -> None:
        """Prepare a lock. Missing folders between `home` and the file are created, but never the home itself.

        A `shared` lock may have several holders at once. Without `create`, the file has to exist.
        """
        self.path = path
        self._home = home or os.path.dirname(path)
        self.fd = -1  # a program that is started with this descriptor inherits the lock
        self._kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        flags = (os.O_RDONLY if shared else os.O_RDWR) | (os.O_CREAT if create else 0)
        self._flags = flags | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK

    def take(self, seconds: float | None = A_MOMENT) -> int:
        """Lock the file and return its descriptor.

        Raise BlockingIOError when another holder keeps the lock for longer than `seconds`; None waits without limit.
        """
        try:
            for _ in range(_REPLACED_OFTEN):
                self.fd = self.fd if self.fd >= 0 else self._open()
                if not (self._try() or self._wait(seconds)):
                    break
                if self._is_in_place():
                    return self.fd
                self.give()
        except BaseException:
            self.give()
            raise
        self.give()
        raise BlockingIOError(errno.EAGAIN, "somebody else holds it", self.path)

    def give(self) -> None:
        """Close the file, if open. The lock is free when every process that inherited the descriptor has ended."""
        if self.fd >= 0:
            fd, self.fd = self.fd, -1
            os.close(fd)

    def is_free(self) -> bool:
        """Return whether nobody holds the lock.

        A missing file counts as free, a file that cannot be opened as held.
        """
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

    def _is_in_place(self) -> bool:
        """Return whether the open file is the one at the lock's path."""
        return is_same_file(self.path, self.fd)

    def _open(self) -> int:
        """Open the lock file, create it and its folders if allowed, and return its descriptor."""
        try:
            return os.open(self.path, self._flags, _MODE)
        except FileNotFoundError:
            if not self._flags & os.O_CREAT:
                raise
        from fleet.world.files import folders  # noqa: PLC0415 - only the first lock of a folder needs it

        folders.make_private_folder(os.path.dirname(self.path), below=self._home)
        return os.open(self.path, self._flags, _MODE)

    def _try(self) -> bool:
        """Lock the open file without waiting; False when somebody else holds the lock."""
        try:
            fcntl.flock(self.fd, self._kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _wait(self, seconds: float | None) -> bool:
        """Wait for the lock for `seconds`, without limit for None; return False when the time is over."""
        if seconds is None:
            fcntl.flock(self.fd, self._kind)
            return True
        if seconds <= 0:
            return False
        try:
            before = alarm.signal(alarm.SIGALRM, _raise_alarm)
        except ValueError:  # only the main thread gets signals
            return self._poll(seconds)
        try:
            return self._block(seconds)
        except Alarm:
            fcntl.flock(self.fd, fcntl.LOCK_UN)  # the lock may have come just before the alarm
            return False
        finally:
            alarm.signal(alarm.SIGALRM, before)

    def _block(self, seconds: float) -> bool:
        """Wait for the lock in the kernel's queue and return True. Raise Alarm, from SIGALRM, after this many seconds."""
        started = monotonic()
        rest, _again = alarm.setitimer(alarm.ITIMER_REAL, seconds)
        try:
            fcntl.flock(self.fd, self._kind)
        finally:
            # Restore a timer that was set before.
            alarm.setitimer(alarm.ITIMER_REAL, max(rest - (monotonic() - started), 0.001) if rest else 0)
        return True

    def _poll(self, seconds: float) -> bool:
        """Try again and again until the lock is free; return False when `seconds` are over. For threads, which get no signals."""
        until = monotonic() + seconds
        while not self._try():
            if monotonic() > until:
                return False
            sleep(0.002)
        return True


class WriterLock(FileLock):
    """The lock of the store's writers. The file stays open between locks, and names the process that locked it last.

    It never creates the home. It writes only what the file does not say already: a write changes the file's times, and
    the next sync would have to write these to the disk too.
    """

    __slots__ = ("_file", "_now", "_times", "_written", "is_noted")

    def __init__(self, path: str) -> None:
        super().__init__(path)
        # The device and inode of the open file.
        self._file = (0, 0)
        # What this object has written into the file, and ctime and mtime of the file, in nanoseconds, at that time.
        self._written = b""
        self._times = (0, 0)
        # ctime and mtime that the file had when it was locked last.
        self._now = (0, 0)
        # Whether the file still says what this object has noted last.
        self.is_noted = False

    def take(self, seconds: float | None = A_MOMENT) -> int:
        """Lock the file, write this process's pid into it, and return its descriptor.

        Wait and raise as `FileLock.take` does.
        """
        super().take(seconds)
        self.is_noted = self._is_as_written()
        if not self.is_noted:
            self._write(_HOLDER % os.getpid(), 0)
        return self.fd

    def unlock(self) -> None:
        """Unlock the file for the next writer and keep it open."""
        fcntl.flock(self.fd, fcntl.LOCK_UN)

    def note(self, *numbers: int) -> None:
        """Write a note into the lock file, for the next process that opens the store.

        `numbers` are the device and inode of the database and of its log; -1 stands for a missing file. The note is not
        valid in a copy of the lock file.
        """
        note = _NOTE % (self._file[1], time_ns(), *numbers)
        self._write(note, _NOTE_AT)
        # A file that is not there yet (-1) has to be looked for again.
        self._written = b"" if -1 in numbers else _HOLDER % os.getpid() + note
        status = os.fstat(self.fd)
        self._times = status.st_ctime_ns, status.st_mtime_ns

    def holder(self) -> str:
        """Return the process that locked the file last, as text for people only."""
        try:
            with open(self.path, "rb") as file:
                text = file.read(20).strip()
        except OSError:
            text = b""
        return f"process {text.decode()}" if text.isdigit() else "an unknown process"

    def _open(self) -> int:
        fd = os.open(self.path, self._flags, _MODE)
        status = os.fstat(fd)
        self._file = status.st_dev, status.st_ino
        self._written = b""
        return fd

    def _is_in_place(self) -> bool:
        """Return whether the open file is the one at the lock's path, and keep that file's times for `_is_as_written`."""
        try:
            there = os.lstat(self.path)
        except FileNotFoundError:
            return False
        self._now = there.st_ctime_ns, there.st_mtime_ns
        return (there.st_dev, there.st_ino) == self._file

    def _is_as_written(self) -> bool:
        """Return whether the file is as this object left it when it wrote its note; False when it wrote none."""
        return (
            self._written != b""
            and self._now == self._times
            and os.pread(self.fd, _NOTE_AT + _NOTE_SIZE, 0) == self._written
        )

    def _write(self, text: bytes, at: int) -> None:
        """Write a text into the file at an offset in bytes; an error, such as a full disk, is ignored."""
        try:  # noqa: SIM105 - contextlib costs
            os.pwrite(self.fd, text, at)
        except OSError:
            pass  # the disk is full: people do not see the holder, and without the note one check less is made


def lock_open_file(fd: int) -> None:
    """Lock an open file; wait without limit. Raise OSError where the file system has no locks."""
    fcntl.flock(fd, fcntl.LOCK_EX)


def read_note(path: str) -> list[int]:
    """Return the numbers of the note in a lock file; [] when it has none, or when the file is a copy of another lock file."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return []
    try:
        of_file, at, *numbers = (int(each) for each in os.pread(handle, _NOTE_SIZE, _NOTE_AT).split())
        status = os.fstat(handle)
    except (OSError, ValueError):
        return []
    finally:
        os.close(handle)
    # A copy may have the inode number of the original. Writing sets ctime and mtime to one moment; copying does not.
    original = status.st_ctime_ns == status.st_mtime_ns and abs(status.st_mtime_ns - at) < _SAME_TIME
    return numbers if original and of_file == status.st_ino else []


def is_same_file(path: str, fd: int) -> bool:
    """Return whether an open file is the one at this path."""
    try:
        there = os.lstat(path)
    except FileNotFoundError:
        return False
    ours = os.fstat(fd)
    return (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino)


def _raise_alarm(_signum: int, _frame: object) -> None:
    raise Alarm
