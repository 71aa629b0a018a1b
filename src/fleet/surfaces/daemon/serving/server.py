"""The server: give each request to the writer, a worker thread or a child process, and send the answers."""

from __future__ import annotations

import os
from functools import partial
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING

from fleet import errors
from fleet.api.permits import Permits
from fleet.api.remote import lifecycle, wire
from fleet.api.remote.door import PROTOCOL
from fleet.api.tokens import refuse_wrong_token
from fleet.model import VERSION
from fleet.model.agents.reads import READS, refusal
from fleet.model.agents.roles import ACTS, DAEMON_ACTS, WORKER
from fleet.model.results.home import DaemonStatus
from fleet.model.text.times import iso
from fleet.surfaces.daemon.serving.changes import ChangeFeed
from fleet.surfaces.daemon.serving.children import Children
from fleet.surfaces.daemon.serving.loop import SocketLoop
from fleet.surfaces.daemon.serving.requests import check, in_surroundings, parsed, perform, way_of
from fleet.surfaces.daemon.serving.workers import Workers
from fleet.surfaces.daemon.writer import WaitingChange
from fleet.world.home import paths

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from fleet.api.remote.wire import Json
    from fleet.surfaces.daemon.duties.duties import Duties
    from fleet.surfaces.daemon.household import Household
    from fleet.surfaces.daemon.serving.connection import Connection
    from fleet.surfaces.daemon.serving.requests import DaemonRequest
    from fleet.world.files.sockets import Listener

    class Commands(Protocol):
        """Runs command lines of clients inside the daemon; the command line provides it.

        `is_quick` says whether the writer can run the command, because it only changes rows. `run` returns exit code,
        output and error output; the exit code is None when the client has to run the command itself.
        """

        def is_quick(self, words: list[str]) -> bool: ...

        def run(self, words: list[str], key: str | None) -> tuple[int | None, str, str]: ...


_OWN_METHODS = frozenset({"daemon.status", "daemon.metrics", "daemon.stop", "daemon.reload"})
# The most bytes of requests that are worked on at once for all clients of the agents' socket together.
MOST_AT_WORK = 64 << 20
# Seconds that requests have to finish when the daemon ends.
DRAIN = 10.0


class Server:
    """Accepts requests and answers them, with the writer, worker threads and child processes."""

    def __init__(
        self,
        household: Household,
        commands: Commands,
        listeners: dict[Listener, bool],
        duties: Duties,
        log: Callable[..., None],
    ) -> None:
        self._household = household
        self._commands = commands
        self._duties = duties
        self._log = log
        writer = household.writer
        self.loop = SocketLoop(
            listeners, greet=self._greet, take_line=self._take_line, gone=self._gone, work=writer.do_quick, log=log
        )
        self._workers = Workers(log=log, leave=household.leave)
        # For requests about the daemon itself: they are answered also while all other threads wait for the store.
        self._own_workers = Workers(log=log, leave=household.leave)
        self._children = Children(household, self._send)
        self.changes = ChangeFeed(household, send=self._push, tell=duties.changed, lost=self._end_for, log=log)
        # The error that ended the server.
        self.why_ended: errors.FleetError | None = None
        self._lock = Lock()
        self._at_work = 0
        # How many answers are being sent, of requests that are no longer at work.
        self._answering = 0
        # The bytes of the requests at work from the agents' socket.
        self._of_agents = 0
        self._taken = 0
        self._errors = 0
        self._is_draining = False
        # When the server was made, in milliseconds since 1970.
        self._since = household.world().clock.now()
        # Performs `daemon.reload`.
        self.reload: Callable[[], None] = lambda: None

    def start(self) -> None:
        """Start to listen and to push changes."""
        self._household.writer.committed = self.changes.notice
        self._household.writer.wake_loop = self.loop.wake
        self._household.writer.take_arrived = self.loop.take_arrived
        self._household.writer.log = self._log
        self._household.checkpoints.log = self._log
        self.changes.start()
        self.loop.open()

    def _end_for(self, error: errors.FleetError) -> None:
        """Let the daemon end with this error, because the database was replaced. Returns at once."""
        self.why_ended = error
        self.loop.stop()

    def drain(self, until: float) -> None:
        """Accept no more connections, finish the requests that have been begun, then stop the server's threads.

        Wait at most 10 seconds for the requests, and for nothing after `until`, a time of the monotonic clock. Child
        processes go on, except those that run jobs: the clients continue the jobs themselves.
        """
        self._is_draining = True
        self.loop.stop_listening()
        enough = min(until, monotonic() + DRAIN)
        while (self._at_work or self._answering) and monotonic() < enough:
            self.loop.run_once(0.05)
        self._workers.stop(until)
        self._own_workers.stop(until)
        self.changes.stop(until)
        self._children.leave()
        self.loop.close()

    # the loop's side --------------------------------------------------------------------------------------------------
    def _greet(self, connection: Connection) -> None:
        """Queue the greeting for a new connection: version, protocol and pid."""
        connection.put({"fleet": VERSION, "protocol": PROTOCOL, "pid": os.getpid()})

    def _gone(self, connection: Connection) -> None:
        """End the subscriptions of a closed connection, and interrupt the children that work for it."""
        self.changes.forget(connection)
        self._children.interrupt(connection)

    def _take_line(self, connection: Connection, line: bytes) -> None:
        """Begin the request that a line contains. It never raises and never waits; errors are sent as answers."""
        try:
            request = parsed(connection, line)
        except errors.FleetError as error:
            connection.put({"id": None, "error": wire.error_document(error)})
            return
        if connection.is_for_agents and self._of_agents + len(line) > MOST_AT_WORK:
            connection.put(
                request.failed(errors.BadRequest(why="agents ask for too much at once; try again in a moment"))
            )
            return
        self._begin(request, len(line))
        try:
            self._route(request)
        except BaseException as error:  # noqa: BLE001 - the client is told
            self._send(connection, request.failed(error))

    def _route(self, request: DaemonRequest) -> None:
        """Check a request and give it to the writer, a worker or a child. Raise Draining while the daemon ends."""
        check(request.document)
        if self._is_draining:
            raise errors.Draining
        self._refuse_person_as_agent(request)
        method = request.method
        if method == "command":
            words = _words_of(request)
            self._do(request, lambda: self._run_command(request, words), is_quick=self._commands.is_quick(words))
        elif method == "subscribe":
            self._subscribe(request)
        elif method in _OWN_METHODS:
            act = self._with_token(request, lambda: self._perform_own(request))
            self._own_workers.submit(lambda: self._perform(request, act))
        elif (way := way_of(request)) == "heavy":
            self._do_in_child(request)
        else:
            is_quick = way == "quick"
            opened = self._household.open_kept if is_quick else self._household.open
            self._do(request, lambda: perform(opened(request.actor), request), is_quick=is_quick)

    def _run_command(self, request: DaemonRequest, words: list[str]) -> dict[str, object]:
        """Run a command line of fleet in this process, and return the answer with its exit code and what it printed.

        The exit code is None when the client has to run the command itself.
        """
        code, out, err = self._commands.run(words, request.key)
        return request.answer(result={"code": code, "out": out, "err": err})

    def _perform_own(self, request: DaemonRequest) -> dict[str, object]:
        """Perform a method of the daemon itself. Raise NotAllowed when an agent asks to end or reload it."""
        if request.method in DAEMON_ACTS:
            permits = Permits(store=self._household.store, home=self._household.home, dispatch=request.dispatch)
            permits.check(request.method)
        return request.answer(result=wire.plain(self._own_methods()[request.method]()))

    def _own_methods(self) -> dict[str, Callable[[], object]]:
        """Return the methods that the daemon itself has: status, metrics, stop and reload."""
        return {
            "daemon.status": self.status,
            "daemon.metrics": self._metrics,
            "daemon.stop": self.loop.stop,
            "daemon.reload": self.reload,
        }

    def _refuse_person_as_agent(self, request: DaemonRequest) -> None:
        """Refuse a request at the agents' socket that names no dispatch, or that only a person may make."""
        if not request.connection.is_for_agents:
            return
        if not request.dispatch:
            raise errors.OnlyForAgents(path=f"{self._household.home}/{paths.AGENTS_SOCKET}")
        if request.method in _OWN_METHODS or request.method == "subscribe":
            raise errors.BadRequest(why=f"{request.method} is for people, and not at the agents' socket")
        if request.method != "command" and request.method not in ACTS and request.method not in READS:
            raise refusal(request.method, WORKER, who=f"agent {request.dispatch}")

    # the ways ---------------------------------------------------------------------------------------------------------
    def _do(self, request: DaemonRequest, act: Callable[[], dict[str, object]], *, is_quick: bool) -> None:
        """Check the token, then call `act` and send its answer.

        With `is_quick`, the writer calls `act` in the shared transaction; else a worker thread does.
        """
        checked = self._with_token(request, act)
        if is_quick:
            act_there = partial(in_surroundings, request, checked)
            waiting = WaitingChange(act_there, lambda done: self._finish(request, done), key=request.key)
            self._household.writer.add_quick(waiting)
            return
        self._workers.submit(lambda: self._perform(request, checked))

    def _with_token(
        self, request: DaemonRequest, act: Callable[[], dict[str, object]]
    ) -> Callable[[], dict[str, object]]:
        """Return `act`; for a request that speaks for a dispatch, a function that checks its token first."""
        if not request.dispatch:
            return act

        def checked() -> dict[str, object]:
            self._check_token(request)
            return act()

        return checked

    def _perform(self, request: DaemonRequest, act: Callable[[], dict[str, object]]) -> None:
        """Call `act` in the asker's surroundings and send its answer. Whatever it raises becomes the answer."""
        try:
            answer = in_surroundings(request, act)
        except BaseException as error:  # noqa: BLE001 - the client is told
            answer = request.failed(error)
        self._send(request.connection, answer)

    def _do_in_child(self, request: DaemonRequest) -> None:
        """Let a worker thread check a request's token and give the request to a child process; return at once.

        The child process answers. A request that is refused before that is answered by the worker thread.
        """

        def begin() -> dict[str, object]:
            """Check the token, give the request to a child process, which answers later, and return {}."""
            self._check_token(request)
            self._children.perform(request)
            return {}

        def act() -> None:
            """Give the request to a child process, or send the answer that refuses it."""
            refused = in_surroundings(request, begin)
            if refused:
                self._send(request.connection, refused)

        self._workers.submit(act)

    def _check_token(self, request: DaemonRequest) -> None:
        """Raise WrongToken when a request speaks for a dispatch without the token of its launch."""
        ident, token, must = request.dispatch, request.caller.get("token"), request.connection.is_for_agents
        if ident:
            self._household.store.read(lambda rows: refuse_wrong_token(rows, ident, token, must=must))

    def _finish(self, request: DaemonRequest, done: WaitingChange) -> None:
        """Send the result or the error of a request that the writer has committed."""
        answer = request.failed(done.error) if done.error is not None else done.result
        self._send(request.connection, answer)

    def _subscribe(self, request: DaemonRequest) -> None:
        """Let a worker thread subscribe a client to the operations after the number `after` of its request.

        Without a valid number, these are the operations from now on. The answer has a snapshot if the request asks for
        one. The first push comes after the answer.
        """
        begun: list[int] = []

        def act() -> dict[str, object]:
            """Return the answer, and append to `begun` the number after which the client is sent operations."""
            self._check_token(request)
            fleet = self._household.open()
            newest = fleet.operations.newest()
            after = request.args.get("after")
            start = after if isinstance(after, int) and 0 <= after <= newest else newest
            snapshot = wire.plain(fleet.views.status()) if request.args.get("snapshot") else None
            begun.append(start)
            return request.answer(result={"newest": newest, "after": start, "snapshot": snapshot})

        def answer_and_subscribe() -> None:
            """Send the answer, and then what was committed after the number in it."""
            self._perform(request, act)
            for start in begun:
                self.changes.subscribe(request.connection, request.id, start)

        self._workers.submit(answer_and_subscribe)

    # answers ----------------------------------------------------------------------------------------------------------
    def _begin(self, request: DaemonRequest, size: int) -> None:
        """Count one more request at work, of `size` bytes, for its connection and in all."""
        with self._lock:
            request.connection.at_work += 1
            request.connection.working += size
            self._of_agents += size if request.connection.is_for_agents else 0
            self._at_work += 1
            self._taken += 1

    def _send(self, connection: Connection, answer: Json) -> None:
        """Send an answer, or a push that belongs to a request; an answer ends its request. Any thread may call it."""
        if "push" in answer:
            self._push(connection, answer)
            return
        with self._lock:
            connection.at_work -= 1
            if not connection.at_work:
                self._of_agents -= connection.working if connection.is_for_agents else 0
                connection.working = 0
            self._at_work -= 1
            self._answering += 1
            self._errors += "error" in answer
        try:
            self._push(connection, answer)
        finally:
            with self._lock:
                self._answering -= 1

    def _push(self, connection: Connection, line: Json) -> None:
        """Send a line as far as the client takes it at once; wake the loop for the rest, and to read further requests."""
        try:
            is_sent = connection.send(line)
        except (TypeError, ValueError, RecursionError) as error:  # an answer that is no JSON must not end the thread
            self._log("cannot answer", why=f"{type(error).__name__}: {error}")
            is_sent = connection.send({"id": line.get("id"), "error": wire.error_document(error)})
        if not is_sent or not connection.events:
            self.loop.wake(connection)

    def _metrics(self) -> str:
        """Return the figures of the home and of this daemon as OpenMetrics text."""
        return self._household.open().views.metrics(
            lifecycle.figures(self.status(), self._household.world().clock.now())
        )

    def status(self) -> DaemonStatus:
        """Return the daemon's status: its counters, clients, children and duties, and why it cannot use the store."""
        figures = self._household.writer.figures
        unheld, why = self._unheld()
        return DaemonStatus(
            running=True, home=self._household.home, pid=os.getpid(), fleet=VERSION, since=iso(self._since),
            store=self._household.record.database, store_error=why, clients=len(self.loop.connections), requests=self._taken,
            errors=self._errors, batched=figures.requests, commits=figures.batches,
            largest=figures.largest, lost=figures.lost, at_work=self._at_work,
            children=len(self._children), subscribers=len(self.changes), duties=self._duties.status(),
            unheld=unheld,
        )  # fmt: skip

    def _unheld(self) -> tuple[list[str], str | None]:
        """Return the projects whose coordinator a daemon should play and none does, and why the store cannot be read.

        The reason is None when the store can be read; else the list is empty. A store that did not answer a moment ago
        is not asked: a server that is cut off keeps everybody waiting.
        """
        if why := self.changes.store_error():
            return [], why
        try:
            return sorted(self._household.open().coord.unheld()), None
        except errors.StoreError as error:
            self._household.forget(error)
            return [], str(error)


def _words_of(request: DaemonRequest) -> list[str]:
    """Return the words of a command line in a request. Raise BadRequest when they are not a list of texts."""
    words = request.args.get("words")
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise errors.BadRequest(why="'words' is not a list of texts")
    return words
