"""Record the beginning and the end of a program's output; memory and disk stay bounded however much it prints."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
from time import monotonic

from fleet.world.files import folders

HEAD = 8_000_000
TAIL = 1_000_000
_SHOWN = 32_000
_CHUNK = 65_536
_A_WHILE = 0.5
_FILE = 0o600


class Recording:
    """The recorded output of one program.

    With a path, it is written to that file: the beginning as it comes, the end when the recording is closed. `head` and
    `tail` are how many bytes of each are kept.
    """

    def __init__(self, path: str = "", *, head: int = HEAD, tail: int = TAIL) -> None:
        self.path = path
        self.size = 0
        self._head = head
        self._tail = tail
        self._first = bytearray()
        self._end = bytearray()
        self._behind = bytearray()
        self._file = _create_private_file(path) if path else -1

    def take(self, chunk: bytes) -> None:
        """Add a piece of output to the recording."""
        room = max(self._head - self.size, 0)
        self._write(chunk[:room])
        self._behind += chunk[room:]
        del self._behind[: -self._tail]
        self._first += chunk[: _SHOWN - len(self._first)]
        self._end += chunk
        del self._end[:-_SHOWN]
        self.size += len(chunk)

    def close(self) -> None:
        """Write the end of the output to the file, after a note of how much was left out, and close the file."""
        left = self.size - self._head - len(self._behind)
        if left > 0:
            self._write(f"\n[fleet: {left:,} bytes left out here]\n".encode())
        self._write(bytes(self._behind))
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def text(self, most: int) -> str:
        """Return the whole output if it has at most `most` bytes; else its beginning and end, and how much is left out."""
        if self.size <= most <= _SHOWN:
            return self._first.decode("utf-8", "replace")
        half = most // 2
        where = f": {self.path}" if self.path else ""
        between = f"\n[{self.size - 2 * half:,} bytes left out here{where}]\n"
        return self._first[:half].decode("utf-8", "replace") + between + self._end[-half:].decode("utf-8", "replace")

    def _write(self, chunk: bytes) -> None:
        """Write to the file as far as possible; a full disk is ignored, so that it does not fail the program."""
        with contextlib.suppress(OSError):
            while chunk and self._file >= 0:
                chunk = chunk[os.write(self._file, chunk) :]


def record_output(child: subprocess.Popen[bytes], recording: Recording, *, limit: float) -> bool:
    """Record a child's output until it exits; return False when it has not exited within `limit` seconds.

    Background processes that still hold its pipe are not waited for.
    """
    until = monotonic() + limit
    pipe = child.stdout.fileno() if child.stdout else -1
    waiting = select.poll()
    waiting.register(pipe, select.POLLIN)
    while True:
        ended = child.poll() is not None  # if so, all its output can be read now
        more = bool(waiting.poll(1000 * (0 if ended else max(min(_A_WHILE, until - monotonic()), 0))))
        chunk = os.read(pipe, _CHUNK) if more else b""
        recording.take(chunk)
        if more and not chunk:
            return _wait_for_exit(child, until - monotonic())
        if ended and (not more or monotonic() >= until):
            return True
        if not ended and monotonic() >= until:
            return False


def _wait_for_exit(child: subprocess.Popen[bytes], left: float) -> bool:
    """Wait for a child that has closed its output; return whether it exits within this many seconds."""
    try:
        child.wait(max(left, 0))
    except subprocess.TimeoutExpired:
        return False
    return True


def _create_private_file(path: str) -> int:
    """Create a private file and return its descriptor; -1 when that fails."""
    folder = os.path.dirname(path)
    try:
        folders.make_private_folder(folder, below=os.path.dirname(folder))
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, _FILE)
    except OSError:
        return -1
