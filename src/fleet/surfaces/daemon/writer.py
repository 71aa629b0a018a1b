"""Group commit: requests that wait at the same time share one synced transaction, with a savepoint for each.

One connection writes, and one thread at a time has the turn to use it. The event loop takes the turn for the quick requests
that it has just read, which saves waking another thread, and for those that come while it performs them. The writer's own thread takes the turn where the loop would have to
wait: for the requests of other threads, while another process writes, while the disk is slow, and on PostgreSQL.

A refused request undoes only its own changes. A request is answered after the commit. A shared transaction is bounded in
number and time, and between two of them other processes get their turn to write. When a shared transaction is lost (the
connection broke, the disk is full), each of its requests is done again, alone and under its own key: what had been
committed is found by that key. When the connection broke during the commit and the server cannot be asked, each is answered
with OutcomeUnknown and its key, because it may have been done.
"""

from __future__ import annotations

from collections import deque
from queue import SimpleQueue
from threading import Lock, Thread, get_ident
from time import monotonic, sleep
from typing import TYPE_CHECKING, TypeVar

from fleet import errors
from fleet.model.agents.actors import Caller
from fleet.store.transaction import SharedBroken, Store

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from fleet.store.transaction import Rows, Tx

T = TypeVar("T")

# The most requests, and the most seconds, that one shared transaction takes.
MOST = 256
LONGEST = 0.02
# While requests keep coming, the writer leaves the store's lock to other processes for _TURN_OF_OTHERS seconds, once
# every _BETWEEN_TURNS seconds.
_TURN_OF_OTHERS = 0.0002
_BETWEEN_TURNS = 0.01
# The loop commits by itself only if the last shared transaction took at most this many seconds to open and to commit.
_QUICK = 0.01
_NOBODY = Caller(actor="fleet-daemon", at=0, key="")


class WriterEnded(Exception):
    """Raised for a request that comes after the writer was stopped."""


class WaitingChange:
    """One request that waits for the writer.

    `act` is called in the transaction. After the commit, `finish` is called with this object, which then has the
    result or the error of `act`. `key` is the idempotency key under which a client can repeat the request.
    """

    __slots__ = ("act", "error", "finish", "key", "result")

    def __init__(
        self, act: Callable[[], object], finish: Callable[[WaitingChange], None], *, key: str | None = None
    ) -> None:
        self.act = act
        self.finish = finish
        self.key = key
        self.result: Any = None
        self.error: BaseException | None = None

    def perform(self) -> None:
        """Call `act` and keep its result or its error. Raises only SharedBroken."""
        self.result = self.error = None
        try:
            self.result = self.act()
        except SharedBroken:
            raise
        except BaseException as error:  # noqa: BLE001 - whoever asked gets it
            self.error = error


class Figures:
    """Counters of the writer: transactions, requests, the largest batch, and lost transactions."""

    __slots__ = ("batches", "largest", "lost", "requests")

    def __init__(self) -> None:
        self.batches = 0
        self.requests = 0
        self.largest = 0
        self.lost = 0


class Writer:
    """Commits for all threads of the daemon. One thread at a time has the turn, and performs the requests that wait.

    The thread that has the turn is the writer's own or, for quick requests that need not wait, that of the event loop.
    """

    def __init__(self, open_store: Callable[[], Store], *, most: int = MOST, longest: float = LONGEST) -> None:
        self._open_store = open_store
        self._most = most
        self._longest = longest
        # The requests that wait for the writer's thread; None at the end tells the thread to end.
        self._queue: SimpleQueue[WaitingChange | None] = SimpleQueue()
        # Quick requests, for the loop or for the thread, whichever has the turn first.
        self._quick: deque[WaitingChange] = deque()
        self._lock = Lock()
        self._is_ending = False
        self._thread = Thread(target=self._run, name="writer", daemon=True)
        self._turn = Lock()
        # Whether the thread waits for its turn; then the loop lets it go first.
        self._is_awaited = False
        # Whether the last transaction had to wait, for the disk or for another process.
        self._is_slow = False
        # The id of the thread that performs requests on `store` now; 0 for none.
        self._performing_thread = 0
        # When the shared transaction last ended, and when other processes last had their turn to lock the store.
        self._freed_at = self._left_at = 0.0
        self.store: Store | None = None
        self.figures = Figures()
        # Called after each commit, by the thread that made it.
        self.committed: Callable[[], None] = lambda: None
        # Called with the number of requests of each transaction, also of those that were refused, by the thread that
        # performed them.
        self.counted: Callable[[int], None] = lambda _requests: None
        # Called by the writer's thread when quick requests wait and it has nothing else to do.
        self.wake_loop: Callable[[], None] = lambda: None
        # Called by the loop in its shared transaction when no quick request waits: adds those that have come meanwhile.
        self.take_arrived: Callable[[], None] = lambda: None
        # Logs a request that could not be answered.
        self.log: Callable[..., None] = lambda *_event, **_facts: None

    def start(self) -> None:
        """Start the thread that writes."""
        self._thread.start()

    def stop(self, seconds: float | None = None) -> None:
        """Take no more requests, finish those that wait, and end the thread.

        Wait at most `seconds` for the thread to end; without limit if that is None. What is not committed by then is
        undone when the process ends; the clients that asked for it get no answer.
        """
        with self._lock:
            self._is_ending = True
            self._queue.put(None)
        self._thread.join(seconds)

    @property
    def is_here(self) -> bool:
        """Whether the calling thread has the turn: it performs requests in the shared transaction now."""
        return get_ident() == self._performing_thread

    def submit(self, waiting: WaitingChange) -> None:
        """Queue a request for the writer's thread, which calls `waiting.finish` after the commit.

        Raise WriterEnded after `stop`.
        """
        with self._lock:
            if self._is_ending:
                raise WriterEnded
            self._queue.put(waiting)

    def add_quick(self, waiting: WaitingChange) -> None:
        """Queue a quick request, which the loop commits with `do_quick`. Raise WriterEnded after `stop`."""
        if self._is_ending:
            raise WriterEnded
        self._quick.append(waiting)

    def do_quick(self) -> bool:
        """Commit the waiting quick requests: in the calling thread if that needs no waiting, else in the writer's.

        Return whether the calling thread did. The loop calls this when it has taken all requests that have come.
        """
        if not self._quick or self._is_awaited or not self._turn.acquire(blocking=False):
            return False  # the thread does them, or wakes the loop
        try:
            done = self._do_at_once()
            left = None if done else self._next_quick()
        finally:
            self._turn.release()
        if left is not None:
            self.submit(left)  # the thread does the others with it
            return False
        self._finish(done)
        if self._quick:
            self.wake_loop()
        return bool(done)

    def commit(self, why: str, work: Callable[[Tx], T], by: Caller, request: tuple[object, ...]) -> T:
        """Commit one change for the calling thread, wait for the commit, and return its result or raise its error."""
        done = Lock()
        done.acquire()
        waiting = WaitingChange(lambda: self.transact(why, work, by, *request), lambda _: done.release(), key=by.key)
        self.submit(waiting)
        done.acquire()
        if waiting.error is not None:
            raise waiting.error
        result: T = waiting.result
        return result

    def transact(self, why: str, work: Callable[[Tx], T], by: Caller, *request: object) -> T:
        """Do the work of a change in the shared transaction while one is open; else in one of its own, and commit that.

        Only the thread that has the turn may call it.
        """
        store = self._opened()
        if self._doubted is not None:
            return self._ask_again(lambda: store.transact(why, work, by, *request), why, by.key)
        return (store.transact_within if self._is_shared else store.transact)(why, work, by, *request)

    def read(self, work: Callable[[Rows], T]) -> T:
        """Read from the shared transaction while one is open, else from a snapshot.

        Only the thread that has the turn may call it.
        """
        store = self._opened()
        if self._doubted is not None:
            return self._ask_again(lambda: store.read(work), "a request", self._doubted.key)
        return store.read_within(work, _NOBODY) if self._is_shared else store.read(work)

    def _ask_again(self, ask: Callable[[], T], why: str, key: str | None) -> T:
        """Do a request again that may have been committed, by calling `ask`.

        Raise OutcomeUnknown when the server does not answer. A request without a key cannot be looked up later: raise
        the error of the store instead.
        """
        try:
            return ask()
        except (errors.StoreUnreachable, errors.StoreBusy) as error:
            if key is None:
                raise
            invocation = key.partition(":")[0]  # which the keys of its steps begin with
            url = error.facts.get("url") or self._opened().kind
            raise errors.OutcomeUnknown(url=url, doing=why, key=invocation) from error

    # the turn ---------------------------------------------------------------------------------------------------------
    # Whether the shared transaction is open.
    _is_shared = False
    # The request that is being done again although its commit may have happened: the connection broke during the commit.
    _doubted: WaitingChange | None = None

    def _run(self) -> None:
        """Perform requests until `stop`, then the quick ones that are left, and close the store. Runs in the thread."""
        while (first := self._next(wait=True)) is not None:
            self._take_turn(first)
        while self._quick:
            self._take_turn(self._quick.popleft())
        if self.store is not None:
            self.store.close()

    def _take_turn(self, first: WaitingChange) -> None:
        """Perform a request, and those that wait behind it, in the writer's thread."""
        self._is_awaited = True
        with self._turn:
            self._is_awaited = False
            done = self._do_together(first)
        self._finish(done)
        if self._quick:
            self.wake_loop()

    def _next(self, *, wait: bool) -> WaitingChange | None:
        """Return the next request of the queue, the one that has waited longest.

        With `wait`, wait until there is one; None when the writer is to end. Without `wait`, return a quick request
        when the queue is empty, and None when there is no quick request either.
        """
        if not wait and self._queue.empty():
            return self._next_quick()
        waiting = self._queue.get()
        if waiting is not None:
            return waiting
        self._queue.put(None)  # whoever looks next sees the end, too
        return None if wait else self._next_quick()

    def _next_quick(self) -> WaitingChange | None:
        """Return the next quick request, or None. Only who has the turn calls it."""
        return self._quick.popleft() if self._quick else None

    def _next_arrived(self) -> WaitingChange | None:
        """Return the next quick request, also one that has come since the transaction was opened; None without one."""
        if not self._quick:
            self.take_arrived()
        return self._next_quick()

    def _do_together(self, first: WaitingChange) -> list[WaitingChange]:
        """Perform a request, and those that wait behind it, in one transaction. Returns them with their outcomes."""
        self._leave_lock_to_others()
        asked_at = monotonic()
        try:
            store = self._opened()
            store.open_shared()
        except BaseException as error:  # noqa: BLE001 - the store cannot be written: who asked is told
            first.error = error
            self._forget_store()
            return [first]
        return self._do_in(store, first, lambda: self._next(wait=False), waited=monotonic() - asked_at)

    def _do_at_once(self) -> list[WaitingChange]:
        """Perform quick requests in one transaction and return them with their outcomes.

        Return [] when this would have to wait, or when the writer's thread has done all of them just before.
        """
        store = self.store
        if self._is_slow or store is None or not self._quick:
            return []
        self._leave_lock_to_others()
        try:
            is_open = store.open_shared_at_once()
        except Exception:  # noqa: BLE001 - the thread meets it too, and tells
            is_open = False
        return self._do_in(store, self._quick.popleft(), self._next_arrived, waited=0.0) if is_open else []

    def _do_in(
        self, store: Store, first: WaitingChange, more: Callable[[], WaitingChange | None], *, waited: float
    ) -> list[WaitingChange]:
        """Perform requests in the open shared transaction, commit it, and return them with their outcomes.

        `more` returns the next request to perform, or None; `waited` is how many seconds the transaction took to open.
        When the transaction is lost, perform each request alone.
        """
        batch: list[WaitingChange] = []
        self._performing_thread = get_ident()
        self._is_shared = True
        try:
            self._do_each(first, more, batch)
            self._is_shared = False
            done_at = monotonic()
            store.close_shared(f"{len(batch)} changes together", commit=True)
            self._is_slow = waited + monotonic() - done_at > _QUICK
        except BaseException:  # noqa: BLE001 - also a commit whose outcome is not known
            if self._is_shared:
                self._is_shared = False
                store.close_shared("undo", commit=False)
            self._do_alone(batch, in_doubt=store.is_in_doubt)
        self._performing_thread = 0
        self._freed_at = monotonic()
        self._count(batch)
        return batch

    def _do_each(
        self, first: WaitingChange, more: Callable[[], WaitingChange | None], batch: list[WaitingChange]
    ) -> None:
        """Perform `first` and what `more` returns, within the limits of a batch.

        Append each request to `batch` before it is performed.
        """
        until = monotonic() + self._longest
        waiting: WaitingChange | None = first
        while waiting is not None:
            batch.append(waiting)
            waiting.perform()
            waiting = more() if len(batch) < self._most and monotonic() < until else None

    def _finish(self, done: list[WaitingChange]) -> None:
        """Answer each request after the commit, then call `committed`. A request that cannot be answered is logged."""
        for waiting in done:
            try:
                waiting.finish(waiting)
            except Exception as error:  # noqa: BLE001 - the others are answered
                self.log("cannot answer", why=f"{type(error).__name__}: {error}")
        self.committed()

    def _leave_lock_to_others(self) -> None:
        """Pause for a moment if other processes have had no chance to lock the store for a while."""
        now = monotonic()
        left = self._freed_at + _TURN_OF_OTHERS - now
        if left <= 0:
            self._left_at = now
        elif now - self._left_at > _BETWEEN_TURNS:
            sleep(left)
            self._left_at = monotonic()

    def _do_alone(self, batch: list[WaitingChange], *, in_doubt: bool) -> None:
        """Perform each request in a transaction of its own, because the shared one was lost.

        With `in_doubt` the shared one may have been committed. A request whose key cannot be looked up then has the
        error OutcomeUnknown.
        """
        self.figures.lost += 1
        for waiting in batch:
            self._doubted = waiting if in_doubt else None
            waiting.perform()
        self._doubted = None

    def _count(self, batch: list[WaitingChange]) -> None:
        """Add a batch of requests to the figures."""
        self.figures.batches += 1
        self.figures.requests += len(batch)
        self.figures.largest = max(self.figures.largest, len(batch))
        self.counted(len(batch))

    def _opened(self) -> Store:
        if self.store is None:
            self.store = self._open_store()
        return self.store

    def _forget_store(self) -> None:
        """Close the store, so that the next request opens it again: its file was replaced, or the server went away."""
        if self.store is not None:
            store, self.store = self.store, None
            store.close()


class SharedStore(Store):
    """The store of one thread of the daemon: it reads through a connection of its own, and the writer commits its changes."""

    def __init__(self, writer: Writer, open_store: Callable[[], Store]) -> None:
        self._writer = writer
        self._open_own = open_store
        self._own: Store | None = None

    @property
    def kind(self) -> str:  # type: ignore[override]
        """The kind of the database: sqlite or postgresql."""
        return self._reader.kind

    def transact(self, why: str, work: Callable[[Tx], T], by: Caller, *request: object) -> T:
        """Commit a change through the writer, together with other requests that wait, and wait for the commit.

        In the thread that has the writer's turn, only do the work: the shared transaction is committed later.
        """
        if self._writer.is_here:
            return self._writer.transact(why, work, by, *request)
        return self._writer.commit(why, work, by, request)

    def read(self, work: Callable[[Rows], T]) -> T:
        """Read from one snapshot; in the thread that has the writer's turn, from the shared transaction."""
        return self._writer.read(work) if self._writer.is_here else self._reader.read(work)

    def close(self) -> None:
        """Close this thread's connection that reads."""
        if self._own is not None:
            own, self._own = self._own, None
            own.close()

    @property
    def _reader(self) -> Store:
        """The connection of this thread that reads; opened at first use."""
        if self._own is None:
            self._own = self._open_own()
        return self._own
