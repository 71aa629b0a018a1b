"""The daemon's log: one JSON object a line, readable only by its owner, rotated by size. Writing it never raises."""

from __future__ import annotations

import json
import os
import stat
import threading
from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.text import secrets
from fleet.model.text.times import iso
from fleet.world.clock import Clock
from fleet.world.files import folders
from fleet.world.home import paths

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fleet.world.funnel import Funnel

# The size of a file of the log, and how many older files are kept.
MOST_BYTES = 2_000_000
KEPT = 3
_PRIVATE = 0o600
# How long a text in an entry may be.
_LONGEST = 4_000
_CHUNK = 65_536


class DaemonLog:
    """Write the log of a home's daemon. Threads may share the object.

    A file of the log has at most `most` bytes; at most `kept` older files stay.
    """

    def __init__(
        self, home: str, funnel: Funnel, *, clock: Clock | None = None, most: int = MOST_BYTES, kept: int = KEPT
    ) -> None:
        self.path = f"{home}/{paths.DAEMON_LOG}"
        # How many lines could not be written since the last one that was.
        self.lost = 0
        self._home = home
        self._funnel = funnel
        self._clock = clock or Clock()
        self._most = most
        self._kept = kept
        self._is_broken = False
        self._one_at_a_time = threading.Lock()

    def write(self, event: str, /, **facts: object) -> None:
        """Write one entry: the time, what happened (`event`) and the facts, without secrets.

        An entry that cannot be written, for example on a full disk, is counted; the next entry says how many were lost.
        """
        with self._one_at_a_time:
            try:
                line = self._line(event, facts)
                self._funnel.through("write daemon log", lambda: self._append(line))
            except (OSError, ValueError, TypeError, RecursionError, errors.FleetError):
                self.lost += 1
            else:
                self.lost = 0

    def _line(self, event: str, facts: dict[str, object]) -> bytes:
        lost = {"lines_lost": self.lost} if self.lost else {}
        entry = {"at": iso(self._clock.now()), "event": event, **secrets.scrubbed(facts, longest=_LONGEST), **lost}
        return json.dumps(entry, default=str).encode() + b"\n"

    def _append(self, line: bytes) -> None:
        """Append a line to the log file, after rotating a file that would grow too large.

        Raise OSError when only a part of the line was written.
        """
        folders.make_private_folder(os.path.dirname(self.path), below=self._home)
        if os.path.lexists(self.path) and os.lstat(self.path).st_size + len(line) > self._most:
            self._rotate()
        handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, _PRIVATE)
        try:
            if stat.S_IMODE(os.fstat(handle).st_mode) != _PRIVATE:
                os.fchmod(handle, _PRIVATE)
            # A line that was cut off by a full disk ends here.
            whole = b"\n" + line if self._is_broken else line
            self._is_broken = os.write(handle, whole) < len(whole)
        finally:
            os.close(handle)
        if self._is_broken:
            raise OSError

    def _rotate(self) -> None:
        """Rename the file and the older ones, each to the next number; the oldest is replaced."""
        for number in range(self._kept - 1, 0, -1):
            _rename_log(f"{self.path}.{number}", f"{self.path}.{number + 1}")
        _rename_log(self.path, f"{self.path}.1")


def _rename_log(old: str, new: str) -> None:
    """Rename a log file, replacing a file at the new path; do nothing when there is none at the old one."""
    if os.path.lexists(old):
        os.replace(old, new)


# reading --------------------------------------------------------------------------------------------------------------
def newest(home: str, most: int) -> list[dict[str, object]]:
    """Return the newest `most` entries, oldest first, from the log and the rotated files."""
    found: list[dict[str, object]] = []
    for path in _log_files(home):
        if len(found) >= most:
            break
        found = [*_log_entries(_content_of_log(path))[-(most - len(found)) :], *found]
    return found


def follow(home: str, clock: Clock, *, most: int, every: float = 0.5) -> Iterator[dict[str, object] | None]:
    """Yield the newest `most` entries of the log file, then each new entry as it is written, without end.

    Entries of files that were rotated before do not count among the newest. When there is no new entry, yield None,
    then wait `every` seconds. After a rotation read on in the next file; only when so much was written between two
    looks that the file read last is no longer kept, the entries between it and the newest file are lost.
    """
    path = f"{home}/{paths.DAEMON_LOG}"
    handle, rest = _open_log(path), b""
    older, rest = _read_lines(handle, rest)
    yield from older[max(len(older) - most, 0) :]
    while True:
        entries, rest = _read_lines(handle, rest)
        yield from entries
        if entries:
            continue
        following = _open_following(handle, path)
        if following >= 0:
            yield from _read_lines(handle, rest)[0]  # written after the look above, before the rotation
            if handle >= 0:
                os.close(handle)
            handle, rest = following, b""
            continue
        yield None
        clock.wait(every)


def _read_lines(handle: int, rest: bytes) -> tuple[list[dict[str, object]], bytes]:
    """Read an open log file to its end. Return the entries, and the incomplete last line (b"" when there is none).

    `rest` is the incomplete line with which the call before ended; a `handle` of -1 stands for no file.
    """
    content = rest
    while handle >= 0 and (chunk := os.read(handle, _CHUNK)):
        content += chunk
    lines, end, rest = content.rpartition(b"\n")
    return _log_entries(lines) if end else [], rest


def _log_files(home: str) -> Iterator[str]:
    """Yield the log's files that exist, newest first."""
    path = f"{home}/{paths.DAEMON_LOG}"
    return (each for each in (path, *_rotated(path)) if os.path.exists(each))


def _rotated(path: str) -> list[str]:
    """Return the paths of the rotated files of a log, newest first; they need not exist."""
    return [f"{path}.{number}" for number in range(1, KEPT + 1)]


def _content_of_log(path: str) -> bytes:
    """Return the content of a log file; empty when it cannot be opened."""
    handle = _open_log(path)
    if handle < 0:
        return b""
    with os.fdopen(handle, "rb") as file:
        return file.read()


def _open_log(path: str) -> int:
    """Return the descriptor of a log file; -1 when it cannot be opened."""
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return -1


def _open_following(handle: int, path: str) -> int:
    """Open the file that was begun after an open file of the log; return its descriptor, -1 when there is none yet.

    When the open file is no longer kept, that is the newest one. A `handle` of -1 stands for no open file.
    """
    numbered = [path, *_rotated(path)]
    while (place := _place_among(numbered, handle)) > 0:
        following = _open_log(numbered[place - 1])
        if _place_among(numbered, handle) == place:
            return following
        if following >= 0:  # the files were rotated meanwhile: it may be a later one
            os.close(following)
    return _open_log(path) if place < 0 else -1


def _place_among(numbered: list[str], handle: int) -> int:
    """Return the index of the path that leads to an open file; -1 when none does."""
    mine = os.fstat(handle) if handle >= 0 else None
    for place, path in enumerate(numbered):  # a rotation moves a file towards the end, so it is not missed
        try:
            if mine and os.path.samestat(mine, os.lstat(path)):
                return place
        except OSError:
            continue
    return -1


def _log_entries(content: bytes) -> list[dict[str, object]]:
    """Return the entries in some lines, without lines that were cut off."""
    found = []
    for line in content.splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict):
            found.append(entry)
    return found
