"""The client's end of a connection to the daemon: one request after the other."""

from __future__ import annotations

import json
import os
import socket
from typing import TYPE_CHECKING

from fleet import errors
from fleet.api.remote.wire import error_from_document
from fleet.model import FLEET_DIRECT, FLEET_DOOR, VERSION
from fleet.world.files.sockets import address_of
from fleet.world.home import paths

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from fleet.api.remote.wire import Json

# Seconds within which a daemon greets. A suspended one (by SIGSTOP, for example) does not.
GREETING = 5.0
# Seconds within which the daemon answers what it does in a thread: reads, and short looks at the outside. Longer acts are done by
# child processes of the daemon, and take as long as they take: after each 60 seconds a client looks whether the daemon still greets.
ANSWER = 60.0
# Seconds within which a daemon greets that client, also on a machine that has much to do.
SILENCE = 20.0
# The variable that tells a process not to use the daemon: set in the daemon, in its children, and by people who want it.
DIRECT = FLEET_DIRECT
PROTOCOL = 1
# The longest request, in bytes, and the same at the agents' socket. The longest that fleet's commands send there is a task's
# description or the document of a handoff.
LONGEST_LINE = 16 << 20
LONGEST_LINE_OF_AGENTS = 8 << 20
_CHUNK = 1 << 16


class DoorClosed(Exception):
    """The connection broke, or the daemon does not answer.

    When `was_sent` is True, the request had been sent, and nobody knows whether it was done.
    """

    was_sent = False


class Door:
    """One connection to the daemon's socket, which carries one request after the other."""

    def __init__(self, path: str, *, longest: int = LONGEST_LINE) -> None:
        self.path = path
        self._longest = longest
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._lines: list[bytes] = []
        self._rest = bytearray()
        self._number = 0
        self.greeting: Json = {}

    @classmethod
    def of(cls, home: str, *, patience: float | None = None) -> Self | None:
        """Return a connection to the daemon at the socket that FLEET_DOOR names, or else to the daemon of a home.

        None when no daemon of this version greets within `patience` seconds (5 when that is None), or FLEET_DIRECT is
        set.
        """
        path = os.environ.get(FLEET_DOOR) or f"{home}/{paths.DAEMON_SOCKET}"
        if os.environ.get(DIRECT) or not os.path.exists(path):
            return None
        door = cls(path)
        try:
            door.open(patience=patience)
        except DoorClosed:
            return None
        if not door.is_of_this_version:
            door.close()
            return None
        return door

    def open(self, *, patience: float | None = None) -> None:
        """Connect to the socket and read the daemon's greeting.

        Raise DoorClosed when nobody answers within `patience` seconds (5 when that is None).
        """
        self._socket.settimeout(GREETING if patience is None else patience)
        try:
            with address_of(self.path) as address:
                self._socket.connect(address)
            self.greeting = json.loads(self._read_line() or b"{}")
            self._socket.settimeout(None)
        except (OSError, ValueError) as error:
            self.close()
            raise DoorClosed(str(error)) from error
        if not self.greeting:
            self.close()
            raise DoorClosed("no greeting")

    @property
    def is_of_this_version(self) -> bool:
        """Whether the daemon has the same version and speaks the same protocol as this process."""
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
        is_long: bool = False,
    ) -> Json:
        """Send one request and return its answer.

        Lines that the daemon pushes before the answer go to the function `pushed`. `key` is the idempotency key of a
        change. `caller` says for whom the daemon acts; None: for the user that the daemon runs as.

        Raise the error that the daemon answers. Raise DoorClosed when the connection breaks before the answer, or when
        nothing comes for `patience` seconds (None: no limit). With `is_long`, such a silence counts only if the daemon
        does not greet another connection either. After DoorClosed the connection cannot be used.
        """
        if patience is not None:
            self._socket.settimeout(patience)
        number = self.send(method, args, key=key, caller=caller)
        try:
            return self._answer_to(number, pushed, is_long=is_long)
        except DoorClosed as error:
            error.was_sent = True
            raise
        finally:
            if patience is not None:
                self._socket.settimeout(None)

    def _answer_to(self, number: int, pushed: Callable[[Json], None], *, is_long: bool) -> Json:
        """Return the answer to the request with this number; lines that come before it go to `pushed`.

        Raise the error that the daemon answers. With `is_long`, a timeout is no error while the daemon lives: when it
        greets a new connection, the wait goes on.
        """
        while True:
            try:
                answer = self.receive()
            except DoorClosed as error:
                if is_long and isinstance(error.__cause__, TimeoutError) and not _is_silent(self.path):
                    continue
                raise
            if answer.get("id") != number or "push" in answer:
                pushed(answer)
            elif "error" in answer:
                raise error_from_document(answer["error"])
            else:
                return answer

    def send(self, method: str, args: Json, *, key: str | None = None, caller: Json | None = None) -> int:
        """Send a request without waiting for its answer. Returns the number of the request.

        Raise BadRequest for a request that is longer than the daemon takes. Raise DoorClosed when the connection is
        broken.
        """
        self._number += 1
        request = {"id": self._number, "method": method, "args": args, "key": key, "caller": caller, "fleet": VERSION}
        line = json.dumps(request).encode() + b"\n"
        if len(line) > self._longest:
            raise errors.BadRequest(why=f"it is longer than {self._longest >> 20} MiB")
        try:
            self._socket.sendall(line)
        except OSError as error:
            raise DoorClosed(str(error)) from None
        return self._number

    def receive(self, *, patience: float | None = None) -> Json:
        """Return the next line from the daemon as JSON.

        `patience` is how many seconds to wait for the next byte. It remains set for later calls; None keeps the limit
        that is set now (none after `open`). Raise DoorClosed when that time is over, when the connection has ended, or
        for a line that is not JSON.
        """
        if patience is not None:
            self._socket.settimeout(patience)
        try:
            answer: Json = json.loads(self._read_line() or b"{}")
        except (OSError, ValueError) as error:
            raise DoorClosed(str(error)) from error
        if not answer:
            raise DoorClosed("the daemon closed the connection")
        return answer

    @property
    def has_more(self) -> bool:
        """Whether a complete line from the daemon was read and is not returned yet."""
        return bool(self._lines)

    def fileno(self) -> int:
        """Return the file descriptor of the connection, for `select`."""
        return self._socket.fileno()

    def close(self) -> None:
        """Close the connection to the daemon."""
        self._socket.close()

    def _read_line(self) -> bytes:
        """Return the next complete line from the daemon; b"" at the end of the connection."""
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


def _is_silent(path: str) -> bool:
    """Whether a process listens at the socket and does not greet within 20 seconds, as a suspended process does not.

    A daemon that ends or has too many clients is not silent: it removes its socket, or closes the connection.
    """
    door = Door(path)
    try:
        door.open(patience=SILENCE)
    except DoorClosed as error:
        return isinstance(error.__cause__, (TimeoutError, BlockingIOError))
    door.close()
    return False
