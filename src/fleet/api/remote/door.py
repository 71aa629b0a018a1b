"""The client's end of a connection to the daemon: one request after the other."""

from __future__ import annotations

import json
import os
import socket
from typing import TYPE_CHECKING

from fleet import errors
from fleet.api.remote.wire import raised
from fleet.model import VERSION
from fleet.world.files.sockets import address_of
from fleet.world.home import paths

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from fleet.api.remote.wire import Json

# Seconds within which a daemon greets; one that is stopped does not.
GREETING = 5.0
# Seconds within which it answers what it does in a thread: rows, and short looks at the outside. What takes longer than a thread
# should, a process of its own does, and that is waited for.
ANSWER = 60.0
# Says that this process is to do everything itself: it is the daemon, its child, or a person wants it so.
DIRECT = "FLEET_DIRECT"
PROTOCOL = 1
_CHUNK = 1 << 16


class DoorClosed(Exception):
    """The connection broke, or the daemon does not answer. Whether a request that `was_sent` was done is not known."""

    was_sent = False


class Door:
    """A connection to the daemon of a home."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._lines: list[bytes] = []
        self._rest = bytearray()
        self._number = 0
        self.greeting: Json = {}

    @classmethod
    def of(cls, home: str) -> Self | None:
        """Return a connection to the daemon of a home; None when none of this version answers, or this process is to do without."""
        path = os.environ.get("FLEET_DOOR") or f"{home}/{paths.DAEMON_SOCKET}"
        if os.environ.get(DIRECT) or not os.path.exists(path):
            return None
        door = cls(path)
        try:
            door.open()
        except DoorClosed:
            return None
        if not door.is_of_this_version:
            door.close()
            return None
        return door

    def open(self) -> None:
        """Connect, and read the greeting. DoorClosed when nobody answers; OtherVersion for a daemon of another version."""
        self._socket.settimeout(GREETING)
        try:
            with address_of(self.path) as address:
                self._socket.connect(address)
            self.greeting = json.loads(self._read_line() or b"{}")
            self._socket.settimeout(None)
        except (OSError, ValueError) as error:
            self.close()
            raise DoorClosed(str(error)) from None
        if not self.greeting:
            self.close()
            raise DoorClosed("no greeting")

    @property
    def is_of_this_version(self) -> bool:
        """Whether the daemon speaks this protocol and is of this version."""
        return self.greeting.get("protocol") == PROTOCOL and self.greeting.get("fleet") == VERSION

    def call(
        self,
        method: str,
        args: Json,
        *,
        key: str | None = None,
        caller: Json | None = None,
        pushed: Callable[[Json], None] = lambda _push: None,
        patience: float | None = None,
    ) -> Json:
        """Ask for one thing and wait for its answer; what is pushed meanwhile goes to `pushed`. Errors are raised.

        DoorClosed when the connection broke before the answer came, or nothing came for `patience` seconds. The connection cannot be
        used after that.
        """
        if patience is not None:
            self._socket.settimeout(patience)
        number = self.send(method, args, key=key, caller=caller)
        try:
            return self._answer_to(number, pushed)
        except DoorClosed as error:
            error.was_sent = True
            raise
        finally:
            if patience is not None:
                self._socket.settimeout(None)

    def _answer_to(self, number: int, pushed: Callable[[Json], None]) -> Json:
        """Return the answer to a request; what comes before it goes to `pushed`."""
        while True:
            answer = self.receive()
            if answer.get("id") != number or "push" in answer:
                pushed(answer)
            elif "error" in answer:
                raise raised(answer["error"])
            else:
                return answer

    def send(self, method: str, args: Json, *, key: str | None = None, caller: Json | None = None) -> int:
        """Send a request and return its number."""
        self._number += 1
        request = {"id": self._number, "method": method, "args": args, "key": key, "caller": caller, "fleet": VERSION}
        try:
            self._socket.sendall(json.dumps(request).encode() + b"\n")
        except OSError as error:
            raise DoorClosed(str(error)) from None
        return self._number

    def receive(self) -> Json:
        """Return the next line of the daemon."""
        try:
            answer: Json = json.loads(self._read_line() or b"{}")
        except (OSError, ValueError) as error:
            raise DoorClosed(str(error)) from None
        if not answer:
            raise DoorClosed("the daemon closed the connection")
        return answer

    @property
    def has_more(self) -> bool:
        """Whether a whole or half line was read from the connection and not returned yet."""
        return bool(self._lines)

    def fileno(self) -> int:
        """Return the descriptor of the connection."""
        return self._socket.fileno()

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def _read_line(self) -> bytes:
        """Return the next whole line; empty at the end of the connection."""
        while not self._lines:
            chunk = self._socket.recv(_CHUNK)
            if not chunk:
                return b""
            *whole, rest = chunk.split(b"\n")
            for each in whole:
                self._lines.append(bytes(self._rest) + each)
                self._rest.clear()
            self._rest += rest
        return self._lines.pop(0)


def required(home: str) -> Door:
    """Return a connection to the daemon of a home. NoDaemon when none answers."""
    door = Door.of(home)
    if door is None:
        raise errors.NoDaemon(home=home)
    return door
