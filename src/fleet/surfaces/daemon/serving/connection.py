"""One client's connection: the received lines, the bytes still to send, and the limits of both."""

from __future__ import annotations

from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING

from fleet.api.remote.door import LONGEST_LINE, LONGEST_LINE_OF_AGENTS
from fleet.fast import encode_ascii

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator

    from fleet.api.remote.wire import Json

# The most bytes kept for a client that does not read. A subscriber with more is disconnected, and subscribes again.
MOST_WAITING = 32 << 20
# With more unsent bytes than this, a subscriber gets no further changes until it has read some.
BEHIND = 4 << 20
# Seconds within which a client has to complete a line that it began, and to read something that it was sent.
PATIENCE = 30.0
# How many requests of one connection are worked on at once; the others stay in its socket.
MOST_AT_ONCE = 64
_CHUNK = 1 << 16


class TooMuch(Exception):
    """The client exceeds a limit; the text says which."""


class Connection:
    """One client's connection. The loop's thread reads and closes it; any thread may send on it."""

    def __init__(self, sock: socket.socket, *, pid: int, is_for_agents: bool) -> None:
        self.socket = sock
        self.pid = pid
        # Whether the client connected to the socket for agents.
        self.is_for_agents = is_for_agents
        # By home: which dispatches have started the client, as `marks_above` has read from its parents' environments.
        self.marks: dict[str, list[str]] = {}
        self.is_open = True
        # Whether the loop is to close the connection: the client has closed its end, exceeds a limit, or something
        # unexpected happened.
        self.is_over = False
        # Why it is over, for the log; "" when the client has closed its end.
        self.why_over = ""
        # How many requests of this client are at work.
        self.at_work = 0
        # The bytes of the requests at work, and of those that were done since the connection last had none at work.
        self.working = 0
        # The events of this connection that the loop's selector waits for.
        self.events = 0
        # When the client last began or completed a line, or read something, or something began to wait for it.
        self.moved_at = monotonic()
        self._longest = LONGEST_LINE_OF_AGENTS if is_for_agents else LONGEST_LINE
        self._incoming = bytearray()
        self._outgoing = bytearray()
        self._lock = Lock()

    def receive(self) -> bool:
        """Read the bytes that have arrived.

        Returns False when the client has closed its end. Raises TooMuch for a line that is too long.
        """
        try:
            chunk = self.socket.recv(_CHUNK)
        except BlockingIOError:
            return True
        except OSError:
            return False
        if not self._incoming:
            self.moved_at = monotonic()
        self._incoming += chunk
        if len(self._incoming) > self._longest and b"\n" not in self._incoming:
            raise TooMuch(f"a line is longer than {self._longest >> 20} MiB")
        return bool(chunk)

    def lines(self) -> Iterator[bytes]:
        """Yield the complete lines that have arrived, while fewer than 64 requests of this client are at work."""
        while self.at_work < MOST_AT_ONCE:
            end = self._incoming.find(b"\n")
            if end < 0:
                return
            line = bytes(self._incoming[:end])
            del self._incoming[: end + 1]
            self.moved_at = monotonic()
            yield line

    @property
    def has_line(self) -> bool:
        """Whether a complete line has arrived that was not taken."""
        return b"\n" in self._incoming

    @property
    def has_room(self) -> bool:
        """Whether another request of this client may be begun: fewer than 64 are at work."""
        return self.at_work < MOST_AT_ONCE

    def put(self, document: Json) -> None:
        """Queue a line to be sent. Any thread may call it, and has to wake the loop afterwards."""
        with self._lock:
            self._keep(_line(document))

    def send(self, document: Json) -> bool:
        """Send a line at once, as far as the client takes it.

        Returns False when the loop has to send the rest, or to close the connection.
        """
        line = _line(document)
        with self._lock:
            try:
                sent = self.socket.send(line) if self.is_open and not self._outgoing else 0
            except BlockingIOError:
                sent = 0
            except OSError:
                return False
            if sent < len(line):
                self._keep(line[sent:])
            return sent == len(line)

    def _keep(self, line: bytes) -> None:
        """Queue bytes to be sent; on a closed connection, drop them.

        Mark the connection as closed when too many bytes wait.
        """
        if not self.is_open:
            return
        if not self._outgoing:
            self.moved_at = monotonic()
        self._outgoing += line
        if len(self._outgoing) > MOST_WAITING:
            self.is_open = False

    @property
    def is_behind(self) -> bool:
        """Whether pushes to the client should wait, because too many bytes are unsent or the connection is closed."""
        return not self.is_open or len(self._outgoing) > BEHIND

    @property
    def held(self) -> int:
        """How many bytes the daemon holds for the client: of lines that are not complete, and of answers that are not sent."""
        return len(self._incoming) + len(self._outgoing)

    @property
    def wants_to_send(self) -> bool:
        """Whether bytes wait to be sent."""
        return bool(self._outgoing)

    def flush(self) -> bool:
        """Send the first 64 KiB of the queued bytes, as far as the client takes them.

        Returns False when the connection is gone.
        """
        if not self._outgoing:
            return self.is_open  # without the lock: another thread may be sending an answer
        with self._lock:
            try:
                sent = self.socket.send(self._outgoing[:_CHUNK])
            except BlockingIOError:
                return self.is_open
            except OSError:
                return False
            del self._outgoing[:sent]
            self.moved_at = monotonic()
        return self.is_open

    @property
    def is_unfinished(self) -> bool:
        """Whether the client has begun a line without ending it, or has not read everything that waits for it."""
        return bool(self._outgoing) or (bool(self._incoming) and self.has_room)

    def is_stuck(self, now: float) -> bool:
        """Whether the client has neither completed a line nor read anything for 30 seconds although it should."""
        return self.is_unfinished and now - self.moved_at > PATIENCE

    def close(self) -> None:
        """Close the connection. Bytes that were not sent are lost."""
        with self._lock:
            self.is_open = False
            self.socket.close()


def _line(document: Json) -> bytes:
    return f"{encode_ascii(document)}\n".encode("ascii")
