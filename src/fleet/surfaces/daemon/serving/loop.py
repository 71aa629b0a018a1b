"""The daemon's event loop: accept connections, read requests and send answers in one thread.

It performs quick requests itself while nothing makes it wait (see writer.py); other threads perform the rest. After such
requests it looks for the next ones for a moment before it sleeps: to be woken takes longer than a client takes to ask again.
"""

from __future__ import annotations

import errno
import os
import resource
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
# How many of them may be at the agents' socket: persons always have room left.
MOST_AGENTS = 1_000
# The most bytes that the daemon holds for all clients of the agents' socket together. A client with fewer than _FEW is not counted.
MOST_HELD = 32 << 20
_FEW = 1 << 14
_AT_ONCE = 64
# How many processors this process may use.
_PROCESSORS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
# Seconds for which the loop looks for further requests before it sleeps, after it has performed some. With a single
# processor it sleeps at once, because the clients need the processor to ask.
_AWAKE = 0.0001 if _PROCESSORS > 1 else 0.0
# Seconds after which the loop takes no further arrived requests while a transaction is open.
_TAKING = 0.002
# With fewer clients than this, nothing is expected to come while requests are performed.
_SEVERAL = 2
# What the system says when no file descriptor is left.
_NONE_LEFT = frozenset((errno.EMFILE, errno.ENFILE))
# Seconds between two checks for stuck clients, while there may be some, and for socket files that were removed.
_LOOK = 1.0
_LOOK_AT_SOCKETS = 5.0


class SocketLoop:
    """The event loop over all connections of the daemon.

    It calls `greet` for a new connection, `take_line` for each line that arrives, `gone` for a connection that was closed,
    and `work` when all requests that have come are taken; `work` returns whether it has performed some. `listeners` maps
    each listener to whether it is for agents.
    """

    def __init__(
        self,
        listeners: dict[Listener, bool],
        *,
        greet: Callable[[Connection], None],
        take_line: Callable[[Connection, bytes], None],
        gone: Callable[[Connection], None],
        work: Callable[[], bool],
        log: Callable[..., None],
    ) -> None:
        # Each listening socket, and whether it is the one for agents.
        self._listeners = listeners
        self._greet = greet
        self._take_line = take_line
        self._gone = gone
        # Called when all requests that have come are taken.
        self._work = work
        self._log = log
        self._selector = selectors.DefaultSelector()
        self._wake_read_end, self._wake_write_end = os.pipe()
        os.set_blocking(self._wake_read_end, False)
        os.set_blocking(self._wake_write_end, False)
        # A spare descriptor. When all others are used up, it is closed to accept and refuse a client that would wait for ever.
        self._spare = _opened_spare()
        self._ready: deque[Connection] = deque()
        # The connections from which requests were taken while the transaction of this round was open.
        self._arrived: set[Connection] = set()
        self._is_ending = False
        self._is_hung_up = False
        # Called by the loop after `hang_up`.
        self.hung_up: Callable[[], None] = lambda: None
        # The reasons that were logged of conditions that last, such as a full socket, by what the condition is about.
        # The same reason is not logged again.
        self._lasting: dict[object, str] = {}
        self._looked_at = 0.0
        # Until this time the loop looks for events again and again instead of sleeping.
        self._awake_until = 0.0
        self._patience = _LOOK
        self.connections: set[Connection] = set()
        # How many of them are at the agents' socket, and how many may be.
        self._agents = 0
        self._most_agents = MOST_AGENTS

    def open(self) -> None:
        """Start listening at the sockets."""
        self._most_agents = _most_agents()
        self._selector.register(self._wake_read_end, selectors.EVENT_READ, None)
        for listener in self._listeners:
            self._selector.register(listener.open(), selectors.EVENT_READ, listener)

    def wake(self, connection: Connection | None = None) -> None:
        """Wake the loop. With a connection, the loop sends what waits on it and reads its further requests.

        Any thread may call it.
        """
        if connection is not None:
            self._ready.append(connection)
        try:
            os.write(self._wake_write_end, b"!")
        except (BlockingIOError, OSError):
            return  # enough wakings wait already, or the loop has ended

    def stop(self) -> None:
        """Let `run` return soon. Any thread or signal handler may call it."""
        self._is_ending = True
        self.wake()

    def hang_up(self) -> None:
        """Let the loop call `hung_up` soon. Any thread or signal handler may call it."""
        self._is_hung_up = True
        self.wake()

    def run(self) -> None:
        """Handle events of the connections until `stop` is called."""
        while not self._is_ending:
            self.run_once(self._patience)
            self._look_after()

    def run_once(self, seconds: float) -> None:
        """Wait at most this many seconds for events of the connections, and handle them."""
        self._arrived.clear()
        for key, events in self._next_events(seconds):
            self._handle(key.data, events)
        self._flush_ready()
        try:
            if self._work():
                self._awake_until = monotonic() + _AWAKE
        except Exception as error:  # noqa: BLE001 - the next requests are tried all the same
            self._log("failed at requests", why=f"{type(error).__name__}: {error}")
        if self._is_hung_up:
            self._is_hung_up = False
            self.hung_up()

    def take_arrived(self) -> None:
        """Take the requests that have come since the last look. `work` may call it while a transaction is open.

        The rest is left to the next round, which does not wait: to send what waits, to close a connection, to take what
        cannot be taken in 2 ms, and to read on in a long line. With a single client, who asks after the answer, there is
        nothing to take. An unexpected error closes the connection that it is about, in the next round.
        """
        if len(self.connections) < _SEVERAL:
            return
        until = monotonic() + _TAKING
        for key, events in self._selector.select(0):
            connection = key.data
            if not events & selectors.EVENT_READ or not isinstance(connection, Connection):
                continue
            if connection in self._arrived or connection.held > _FEW:
                continue
            self._arrived.add(connection)
            self._ready.append(connection)
            try:
                self._read(connection)
            except Exception as error:  # noqa: BLE001 - others are served all the same
                connection.is_over, connection.why_over = True, f"{type(error).__name__}: {error}"
            if monotonic() > until:
                return

    def _next_events(self, seconds: float) -> list[tuple[selectors.SelectorKey, int]]:
        """Return the events that have come; when there are none, wait at most `seconds` for the first one.

        Shortly after requests were performed, look again and again before sleeping. Return at once when a connection is
        ready.
        """
        while self._ready or (seconds and monotonic() < self._awake_until):
            found = self._selector.select(0)
            if found or self._ready:
                return found
        return self._selector.select(seconds)

    def stop_listening(self) -> None:
        """Accept no more connections, and remove the socket files."""
        for listener in self._listeners:
            if listener.socket is not None:
                self._selector.unregister(listener.socket)
            listener.close()

    def close(self) -> None:
        """Send what can be sent at once, then close all connections and descriptors."""
        for connection in list(self.connections):
            connection.flush()
            self._close(connection)
        self._selector.close()
        read_end, write_end = self._wake_read_end, self._wake_write_end
        self._wake_read_end = (
            self._wake_write_end
        ) = -1  # a late thread must not write into whatever gets these numbers next
        os.close(read_end)
        os.close(write_end)
        if self._spare >= 0:
            os.close(self._spare)

    # events -----------------------------------------------------------------------------------------------------------
    def _handle(self, of: Listener | Connection | None, events: int) -> None:
        """Handle one event: a wake-up when `of` is None, a connection to serve, or clients of a listener to accept.

        An unexpected error closes the connection that it is about, and affects no other.
        """
        try:
            if of is None:
                os.read(self._wake_read_end, 4_096)
            elif isinstance(of, Connection):
                self._serve(of, events)
            elif of.socket is not None:
                self._accept_all(of.socket, is_for_agents=self._listeners[of])
        except Exception as error:  # noqa: BLE001 - others are served all the same
            self._fail(of, error)

    def _fail(self, of: Listener | Connection | None, error: Exception) -> None:
        """Log an unexpected error at a listener or connection (`of`), or, if that is None, in the loop itself.

        A connection is closed.
        """
        self._log("failed at a connection", why=f"{type(error).__name__}: {error}")
        if isinstance(of, Connection):
            self._close(of)

    def _accept_all(self, listening: socket.socket, *, is_for_agents: bool) -> None:
        """Accept waiting clients, at most 64 at once, so that the requests of others do not wait for long."""
        for _ in range(_AT_ONCE):
            try:
                sock, _ = listening.accept()
            except BlockingIOError:
                return
            except OSError as error:
                self._log("not accepted", why=str(error))
                if error.errno in _NONE_LEFT:
                    self._refuse_one(listening)
                return
            self._accept(sock, is_for_agents=is_for_agents)

    def _refuse_one(self, listening: socket.socket) -> None:
        """Accept one waiting client and close it at once, with the spare file descriptor, because no other one is free.

        Otherwise the selector would report that client again and again.
        """
        if self._spare >= 0:
            os.close(self._spare)
        try:
            listening.accept()[0].close()
        except OSError:
            return  # nobody waits any more
        finally:
            self._spare = _opened_spare()

    def _accept(self, sock: socket.socket, *, is_for_agents: bool) -> None:
        """Add a new connection and greet it.

        Close it when the peer is another user or has gone, or when too many clients are connected.
        """
        try:
            sock.settimeout(0)
            uid, pid = peer_of(sock)
        except OSError:  # macOS does not know the peer of a client that has closed its end already
            sock.close()
            return
        if uid != os.geteuid():
            self._log("refused a connection", uid=uid)
            sock.close()
            return
        if self._is_full(is_for_agents=is_for_agents):
            sock.close()
            return
        connection = Connection(sock, pid=pid, is_for_agents=is_for_agents)
        self.connections.add(connection)
        self._agents += is_for_agents
        self._watch(connection, selectors.EVENT_READ)
        self._greet(connection)
        self._send(connection)

    def _is_full(self, *, is_for_agents: bool) -> bool:
        """Whether no further client may connect, `is_for_agents`: at the agents' socket. Log once that it is full."""
        where = "the agents' socket" if is_for_agents else "the socket"
        if len(self.connections) < MOST_CLIENTS and not (is_for_agents and self._agents >= self._most_agents):
            self._lasting.pop(where, None)
            return False
        self._log_lasting("refused a connection", where, why=f"too many clients at {where}")
        return True

    def _serve(self, connection: Connection, events: int) -> None:
        """Read from a connection, take its complete lines and send what waits.

        Close it when it is gone or exceeds a limit.
        """
        if events & selectors.EVENT_READ:
            self._read(connection)
        else:
            self._take_lines(connection)
        self._send(connection)

    def _read(self, connection: Connection) -> None:
        """Read from a connection and take its complete lines.

        Mark it as over when the client has closed its end or exceeds a limit; `_send` then closes it.
        """
        try:
            if connection.receive():
                self._take_lines(connection)
            else:
                connection.is_over = True
        except TooMuch as error:
            connection.is_over, connection.why_over = True, str(error)

    def _take_lines(self, connection: Connection) -> None:
        """Take the complete lines of a connection, while it has room for further requests and is not over."""
        if connection.is_over:
            return
        for line in connection.lines():
            self._take_line(connection, line)

    def _send(self, connection: Connection) -> None:
        """Send what waits on a connection, and set the events to wait for. Close the connection when it is over."""
        if connection.is_over or not connection.flush():
            if connection.why_over:
                self._log("closed a connection", why=connection.why_over)
            self._close(connection)
            return
        events = selectors.EVENT_READ if connection.has_room else 0
        events |= selectors.EVENT_WRITE if connection.wants_to_send else 0
        self._watch(connection, events)
        if connection.has_room and (not events & selectors.EVENT_READ or connection.has_line):
            self._ready.append(connection)  # another thread has just answered one of its 64 requests
        if connection.is_for_agents and connection.held > _FEW:
            self._bound_agents()

    def _bound_agents(self) -> None:
        """Close connections of the agents' socket until the daemon holds no more than MOST_HELD bytes for them.

        The connection that has neither begun nor completed a line nor read anything for the longest time is closed
        first.
        """
        holding = [each for each in self.connections if each.is_for_agents and each.held > _FEW]
        held = sum(each.held for each in holding)
        for each in sorted(holding, key=lambda one: one.moved_at):
            if held <= MOST_HELD:
                return
            held -= each.held
            self._log("closed a connection", why=f"agents hold more than {MOST_HELD >> 20} MiB", pid=each.pid)
            self._close(each)

    def _watch(self, connection: Connection, events: int) -> None:
        """Let the selector wait for these events of a connection and for no others; with 0, for none."""
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
        """Take further lines of the connections that other threads woke the loop for, and send what waits on them."""
        while self._ready:
            connection = self._ready.popleft()
            if connection in self.connections:
                self._serve_ready(connection)

    def _serve_ready(self, connection: Connection) -> None:
        """Take further lines of a connection and send what waits on it; an unexpected error costs only this connection."""
        try:
            self._take_lines(connection)
            self._send(connection)
        except Exception as error:  # noqa: BLE001 - others are served all the same
            self._fail(connection, error)

    def _close(self, connection: Connection) -> None:
        """Close a connection and call `gone`; do nothing when it is closed already."""
        if connection not in self.connections:
            return
        self.connections.discard(connection)
        self._agents -= connection.is_for_agents
        self._watch(connection, 0)
        connection.close()
        try:
            self._gone(connection)
        except Exception as error:  # noqa: BLE001 - it is closed all the same
            self._log("failed at a connection", why=f"{type(error).__name__}: {error}")

    # now and then -----------------------------------------------------------------------------------------------------
    def _look_after(self) -> None:
        """At most once a second, close stuck connections, and listen again where a socket file was removed."""
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
        """Create a socket file again that somebody has removed.

        When that fails, for example because a foreign file is at its path, log the reason.
        """
        old = listener.socket
        try:
            new = listener.open()
        except Exception as error:  # noqa: BLE001 - the next look tries again
            self._log_lasting("the socket is gone", listener, why=str(error), path=listener.path)
            return
        self._lasting.pop(listener, None)
        if old is not None:
            self._selector.unregister(old)
            old.close()
        self._selector.register(new, selectors.EVENT_READ, listener)
        self._log("listens again", path=listener.path)

    def _log_lasting(self, event: str, of: object, *, why: str, **facts: object) -> None:
        """Log a condition that may last for long: only once, until its reason changes or it is removed from `_lasting`."""
        if self._lasting.get(of) != why:
            self._lasting[of] = why
            self._log(event, why=why, **facts)


def _most_agents() -> int:
    """Return how many connections the agents' socket may have: at most a quarter of the files that the process may open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST_AGENTS if soft == resource.RLIM_INFINITY else min(MOST_AGENTS, soft // 4)


def _opened_spare() -> int:
    """Return an open descriptor that is kept to be given up when none is free (see `_refuse_one`); -1 when none is left."""
    try:
        return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return -1
