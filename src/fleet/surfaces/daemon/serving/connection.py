"""One client's connection: lines that came in, bytes that wait to go out, and the limits of both."""

from __future__ import annotations

from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING

from fleet.fast import encode_ascii

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator

    from fleet.api.remote.wire import Json

# A request may be so long; whoever sends more is not a client.
LONGEST_LINE = 16 << 20
# So much may wait for a client that does not read. A subscriber is dropped then, and asks again.
MOST_WAITING = 32 << 20
# A subscriber for which more waits than this gets further changes when it has read some.
BEHIND = 4 << 20
# Seconds within which a line that was begun has to end, and within which a client has to read something.
PATIENCE = 30.0
# How many requests of one connection are worked on at once; the others stay in its socket.
MOST_AT_ONCE = 64
_CHUNK = 1 << 16


class TooMuch(Exception):
    """The client goes beyond a limit; the text says which."""


class Connection:
    """A connection. The loop reads and writes it; any thread may let it send."""

    def __init__(self, sock: socket.socket, *, pid: int, is_for_agents: bool) -> None:
        self.socket = sock
        self.pid = pid
        # It came by the socket on which only agents speak.
        self.is_for_agents = is_for_agents
        self.is_open = True
        self.at_work = 0
        # What the loop waits for.
        self.events = 0
        self._incoming = bytearray()
        self._outgoing = bytearray()
        self._lock = Lock()
        self._moved_at = monotonic()

    def receive(self) -> bool:
        """Read what is there. False when the client has closed its end."""
        try:
            chunk = self.socket.recv(_CHUNK)
        except BlockingIOError:
            return True
        except OSError:
            return False
        if not self._incoming:
            self._moved_at = monotonic()
        self._incoming += chunk
        if len(self._incoming) > LONGEST_LINE and b"\n" not in self._incoming:
            raise TooMuch(f"a line is longer than {LONGEST_LINE >> 20} MiB")
        return bool(chunk)

    def lines(self) -> Iterator[bytes]:
        """Yield the whole lines that came in, as long as not too many requests are worked on."""
        while self.at_work < MOST_AT_ONCE:
            end = self._incoming.find(b"\n")
            if end < 0:
                return
            line = bytes(self._incoming[:end])
            del self._incoming[: end + 1]
            self._moved_at = monotonic()
            yield line

    @property
    def has_room(self) -> bool:
        """Whether more requests of this client may be worked on."""
        return self.at_work < MOST_AT_ONCE

    def put(self, document: Json) -> None:
        """Let a line wait to be sent. Any thread may call it; the loop has to be woken then."""
        with self._lock:
            self._keep(_line(document))

    def send(self, document: Json) -> bool:
        """Send a line, as much of it as the client takes at once. False when the loop has to send the rest, or to close."""
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
        """Let bytes wait to be sent. A client that lets too much wait is not sent anything any more."""
        if not self.is_open:
            return
        if not self._outgoing:
            self._moved_at = monotonic()
        self._outgoing += line
        if len(self._outgoing) > MOST_WAITING:
            self.is_open = False

    @property
    def is_behind(self) -> bool:
        """Whether so much waits for the client that further pushes had better wait, or nothing can be sent any more."""
        return not self.is_open or len(self._outgoing) > BEHIND

    @property
    def wants_to_send(self) -> bool:
        """Whether bytes wait to go out."""
        return bool(self._outgoing)

    def flush(self) -> bool:
        """Send what the client takes. False when it is gone."""
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
            self._moved_at = monotonic()
        return self.is_open

    @property
    def is_unfinished(self) -> bool:
        """Whether the client has begun a line, or has not read all that was sent."""
        return bool(self._outgoing) or (bool(self._incoming) and self.has_room)

    def is_stuck(self, now: float) -> bool:
        """Whether the client has neither ended its line nor read anything for too long."""
        return self.is_unfinished and now - self._moved_at > PATIENCE

    def close(self) -> None:
        """Close it; what still waits is lost."""
        with self._lock:
            self.is_open = False
            self.socket.close()


def _line(document: Json) -> bytes:
    return f"{encode_ascii(document)}\n".encode("ascii")
