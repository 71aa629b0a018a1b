"""The loop: accepts connections, reads requests and sends answers, all in one thread.

Of the requests it does the quick ones itself, while nothing makes it wait: see writer.py.
"""

from __future__ import annotations

import os
import selectors
from collections import deque
from time import monotonic
from typing import TYPE_CHECKING

from fleet.surfaces.daemon.serving.connection import Connection, TooMuch
from fleet.world.files.sockets import peer_of

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from fleet.world.files.sockets import Listener

MOST_CLIENTS = 4_000
_AT_ONCE = 64
# How often stuck clients and lost socket files are looked for, and only while there may be some.
_LOOK = 1.0
_LOOK_AT_SOCKETS = 5.0


class Loop:
    """All connections of the daemon."""

    def __init__(
        self,
        listeners: dict[Listener, bool],
        *,
        greet: Callable[[Connection], None],
        take: Callable[[Connection, bytes], None],
        gone: Callable[[Connection], None],
        work: Callable[[], None],
        log: Callable[..., None],
    ) -> None:
        # Each listener, and whether only agents speak there.
        self._listeners = listeners
        self._greet = greet
        self._take = take
        self._gone = gone
        # Called when all requests that have come are taken.
        self._work = work
        self._log = log
        self._selector = selectors.DefaultSelector()
        self._waker, self._wakes = os.pipe()
        os.set_blocking(self._waker, False)
        os.set_blocking(self._wakes, False)
        # A descriptor to give up when there is no other: somebody who waits can be refused then, and is not found waiting again.
        self._spare = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        self._ready: deque[Connection] = deque()
        self._is_ending = False
        self._looked_at = 0.0
        self._patience = _LOOK
        self.connections: set[Connection] = set()

    def open(self) -> None:
        """Listen at the sockets."""
        self._selector.register(self._waker, selectors.EVENT_READ, None)
        for listener in self._listeners:
            self._selector.register(listener.open(), selectors.EVENT_READ, listener)

    def wake(self, connection: Connection | None = None) -> None:
        """Let the loop look again: at a connection that has something to send, or whose requests are done."""
        if connection is not None:
            self._ready.append(connection)
        try:
            os.write(self._wakes, b"!")
        except (BlockingIOError, OSError):
            return  # enough wakings wait already, or the loop has ended

    def stop(self) -> None:
        """End the loop soon."""
        self._is_ending = True
        self.wake()

    def run(self) -> None:
        """Handle events of the connections until `stop` is called."""
        while not self._is_ending:
            self.run_once(self._patience)
            self._look_after()

    def run_once(self, seconds: float) -> None:
        """Wait at most this many seconds for events of the connections, and handle them."""
        for key, events in self._selector.select(seconds):
            self._handle(key.data, events)
        self._flush_ready()
        self._work()

    def stop_listening(self) -> None:
        """Accept nobody any more, and remove the sockets' files."""
        for listener in self._listeners:
            if listener.socket is not None:
                self._selector.unregister(listener.socket)
            listener.close()

    def close(self) -> None:
        """Send what can be sent at once, and close everything."""
        for connection in list(self.connections):
            connection.flush()
            self._close(connection)
        self._selector.close()
        waker, wakes = self._waker, self._wakes
        self._waker = self._wakes = -1  # a late thread must not write into whatever gets these numbers next
        os.close(waker)
        os.close(wakes)
        os.close(self._spare)

    # events -----------------------------------------------------------------------------------------------------------
    def _handle(self, of: Listener | Connection | None, events: int) -> None:
        if of is None:
            os.read(self._waker, 4_096)
        elif isinstance(of, Connection):
            self._serve(of, events)
        elif of.socket is not None:
            self._accept_all(of.socket, is_for_agents=self._listeners[of])

    def _accept_all(self, listening: socket.socket, *, is_for_agents: bool) -> None:
        """Accept everybody who waits, up to a number, so that requests are not kept waiting."""
        for _ in range(_AT_ONCE):
            try:
                sock, _ = listening.accept()
            except BlockingIOError:
                return
            except OSError as error:
                self._log("not accepted", why=str(error))
                self._refuse_one(listening)
                return
            self._accept(sock, is_for_agents=is_for_agents)

    def _refuse_one(self, listening: socket.socket) -> None:
        """Close the connection of one who waits, by the spare descriptor: without any, the loop would find it again and again."""
        os.close(self._spare)
        try:
            listening.accept()[0].close()
        except OSError:
            return  # nobody waits any more
        finally:
            self._spare = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)

    def _accept(self, sock: socket.socket, *, is_for_agents: bool) -> None:
        sock.settimeout(0)
        uid, pid = peer_of(sock)
        if uid != os.geteuid() or len(self.connections) >= MOST_CLIENTS:
            self._log("refused a connection", uid=uid, clients=len(self.connections))
            sock.close()
            return
        connection = Connection(sock, pid=pid, is_for_agents=is_for_agents)
        self.connections.add(connection)
        self._watch(connection, selectors.EVENT_READ)
        self._greet(connection)
        self._send(connection)

    def _serve(self, connection: Connection, events: int) -> None:
        try:
            if events & selectors.EVENT_READ and not connection.receive():
                self._close(connection)
                return
            self._take_lines(connection)
        except TooMuch as error:
            self._log("closed a connection", why=str(error))
            self._close(connection)
            return
        self._send(connection)

    def _take_lines(self, connection: Connection) -> None:
        for line in connection.lines():
            self._take(connection, line)

    def _send(self, connection: Connection) -> None:
        """Send what waits, and tell the selector what to wait for."""
        if not connection.flush():
            self._close(connection)
            return
        events = selectors.EVENT_READ if connection.has_room else 0
        events |= selectors.EVENT_WRITE if connection.wants_to_send else 0
        self._watch(connection, events)

    def _watch(self, connection: Connection, events: int) -> None:
        """Wait for these events of a connection; for none while its requests are worked on and nothing is to be sent."""
        before, connection.events = connection.events, events
        if before == events:
            return
        if not events:
            self._selector.unregister(connection.socket)
        elif not before:
            self._selector.register(connection.socket, events, connection)
        else:
            self._selector.modify(connection.socket, events, connection)

    def _flush_ready(self) -> None:
        while self._ready:
            connection = self._ready.popleft()
            if connection in self.connections:
                self._take_lines(connection)
                self._send(connection)

    def _close(self, connection: Connection) -> None:
        if connection in self.connections:
            self.connections.discard(connection)
            self._watch(connection, 0)
            connection.close()
            self._gone(connection)

    # now and then -----------------------------------------------------------------------------------------------------
    def _look_after(self) -> None:
        now = monotonic()
        if now - self._looked_at < _LOOK:
            return
        self._looked_at = now
        # Wait long for the next event unless a client may be stuck.
        self._patience = _LOOK if any(each.is_unfinished for each in self.connections) else _LOOK_AT_SOCKETS
        for connection in [each for each in self.connections if each.is_stuck(now) or not each.is_open]:
            self._log("closed a connection", why="it reads and writes nothing", pid=connection.pid)
            self._close(connection)
        for listener in self._listeners:
            if not listener.is_in_place:
                self._listen_again(listener)

    def _listen_again(self, listener: Listener) -> None:
        """Listen again where somebody has removed the socket's file. A foreign file in its place is left alone."""
        old = listener.socket
        try:
            new = listener.open()
        except Exception as error:  # noqa: BLE001 - the next look tries again
            self._log("the socket is gone", path=listener.path, why=str(error))
            return
        if old is not None:
            self._selector.unregister(old)
            old.close()
        self._selector.register(new, selectors.EVENT_READ, listener)
        self._log("listens again", path=listener.path)
