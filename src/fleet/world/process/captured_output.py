"""Read a program's output until it exits; record its beginning and end, so that memory and disk stay bounded."""

from __future__ import annotations

import os
import select
from time import monotonic

from fleet.world.files import folders
from fleet.world.process.ps import handle_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from subprocess import Popen
    from typing import IO

    from fleet.world.process.spawn import Spawned

    # By descriptor: the function that gets each piece read from the descriptor.
    Take = Mapping[int, Callable[[bytes], object]]

# How many bytes of the beginning and of the end of an output a file keeps, unless the caller says otherwise.
HEAD = 8_000_000
TAIL = 1_000_000
# How many bytes of the beginning and of the end are kept in memory.
_SHOWN = 32_000
_CHUNK = 65_536
# How often to look whether a program has exited, in seconds, where the kernel does not report it.
_LOOK_AGAIN = 0.01
_FILE = 0o600


class Recording:
    """The recorded output of one program.

    With a path, it is written to that file: the beginning as it comes, the end when the recording is closed. `head` and
    `tail` are how many bytes of the beginning and of the end the file keeps. When the file cannot be created or
    written, the recording goes on without it.
    """

    def __init__(self, path: str = "", *, head: int = HEAD, tail: int = TAIL) -> None:
        self.path = path
        self.size = 0
        self._head = head
        self._tail = tail
        # For `text`: the first and the last _SHOWN bytes. For the file: the last `tail` bytes after the first `head`.
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
        """Return the output; if it is longer than `most` bytes (32 000 at most), only its beginning and its end.

        Between them the text says how many bytes are left out, and names the file, if there is one.
        """
        most = min(most, _SHOWN)  # no more is kept
        if self.size <= most:
            return self._first.decode("utf-8", "replace")
        half = most // 2
        where = f": {self.path}" if self.path else ""
        between = f"\n[{self.size - 2 * half:,} bytes left out here{where}]\n"
        return self._first[:half].decode("utf-8", "replace") + between + self._end[-half:].decode("utf-8", "replace")

    def _write(self, chunk: bytes) -> None:
        """Write to the file as far as possible; a full disk is ignored, so that it does not fail the program."""
        try:
            while chunk and self._file >= 0:
                chunk = chunk[os.write(self._file, chunk) :]
        except OSError:
            return


def read_output(child: Popen[bytes] | Spawned, take: Take, *, limit: float, given: bytes = b"") -> bool:
    """Pass a program's output to the functions in `take` until the program exits, for at most `limit` seconds.

    Return whether it has exited; it is not killed here. `take` has a function for each descriptor to read. `given` is
    written to the program's standard input. Background processes that still hold its pipes are not waited for.
    """
    until = monotonic() + limit
    pipes, exits = _Pipes(child, list(take), given), _exit_descriptor(child)
    if exits is not None:
        pipes.waiting.register(exits, select.POLLIN)
    try:
        while True:
            has_ended = child.poll() is not None  # if so, all its output can be read now
            left = max(until - monotonic(), 0)
            patience = left if exits is not None else min(left, _LOOK_AGAIN)
            pieces = pipes.move(patience)
            for descriptor, piece in pieces:
                take[descriptor](piece)
            if not left or (has_ended and not pieces):
                return has_ended
    finally:
        if exits is not None:
            os.close(exits)


class _Pipes:
    """The pipes of a program, as long as they are open."""

    def __init__(self, child: Popen[bytes] | Spawned, outputs: list[int], given: bytes) -> None:
        self.waiting = select.poll()
        self._outputs = outputs
        self._given = memoryview(given)
        self._stdin = child.stdin
        for descriptor in outputs:
            self.waiting.register(descriptor, select.POLLIN)
        if child.stdin is not None:
            self.waiting.register(child.stdin.fileno(), select.POLLOUT)

    def move(self, seconds: float) -> list[tuple[int, bytes]]:
        """Wait at most `seconds` until a pipe is ready; write and read once; return (descriptor, bytes) pairs."""
        ready = [descriptor for descriptor, _ in self.waiting.poll(seconds * 1_000)]
        if self._stdin is not None and self._stdin.fileno() in ready:
            self._write(self._stdin)
        pieces = [(descriptor, os.read(descriptor, _CHUNK)) for descriptor in ready if descriptor in self._outputs]
        for descriptor in [descriptor for descriptor, piece in pieces if not piece]:
            self.waiting.unregister(descriptor)
        return [(descriptor, piece) for descriptor, piece in pieces if piece]

    def _write(self, stdin: IO[bytes]) -> None:
        """Write as much as a pipe takes without blocking; close it after the last piece, or when nobody reads it."""
        try:
            self._given = self._given[os.write(stdin.fileno(), self._given[: select.PIPE_BUF]) :]
        except BrokenPipeError:
            self._given = self._given[:0]
        if not self._given:
            self.waiting.unregister(stdin.fileno())
            stdin.close()
            self._stdin = None


def _exit_descriptor(child: Popen[bytes] | Spawned) -> int | None:
    """Return a descriptor that becomes readable when the program exits.

    None when the program has exited, or where the kernel has no pidfds.
    """
    try:
        return handle_of(child.pid) if child.returncode is None else None
    except ProcessLookupError:
        return None


def _create_private_file(path: str) -> int:
    """Create a private file and return its descriptor; -1 when that fails."""
    folder = os.path.dirname(path)
    try:
        folders.make_private_folder(folder, below=os.path.dirname(folder))
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, _FILE)
    except OSError:
        return -1
