"""Group commit: requests that wait at the same time share one synced transaction, with a savepoint for each.

One thread, the writer, owns the connection that writes. A refused request undoes only its own changes. A request is
answered after the commit. A shared transaction is bounded in number and time, and between two of them other processes
get their turn to write. When a shared transaction is lost (the connection broke, the disk is full), each of its
requests is done again, alone and under its own key: what had been committed is found by that key.
"""

from __future__ import annotations

from queue import SimpleQueue
from threading import Lock, Thread, get_ident
from time import monotonic, sleep
from typing import TYPE_CHECKING, TypeVar

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
# Seconds for which the writer leaves the lock to other processes while more requests wait.
_TURN_OF_OTHERS = 0.0002
_NOBODY = Caller(actor="fleet-daemon", at=0, key="")


class WriterEnded(Exception):
    """The writer does not take requests any more."""


class Waiting:
    """One request that waits for the writer.

    `act` is called in the transaction, `finish` with the outcome after the commit.
    """

    __slots__ = ("act", "error", "finish", "result")

    def __init__(self, act: Callable[[], object], finish: Callable[[Waiting], None]) -> None:
        self.act = act
        self.finish = finish
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
    """The thread that commits for all other threads of the daemon."""

    def __init__(self, open_store: Callable[[], Store], *, most: int = MOST, longest: float = LONGEST) -> None:
        self._open_store = open_store
        self._most = most
        self._longest = longest
        # The requests that wait; None at the end tells the thread to end.
        self._queue: SimpleQueue[Waiting | None] = SimpleQueue()
        self._lock = Lock()
        self._is_ending = False
        self._thread = Thread(target=self._run, name="writer", daemon=True)
        self._ident = 0
        self.store: Store | None = None
        self.figures = Figures()
        # Called by the writer's thread after each commit.
        self.committed: Callable[[], None] = lambda: None

    def start(self) -> None:
        """Start the thread that writes."""
        self._thread.start()

    def stop(self) -> None:
        """Take no more requests, finish those that wait, and end the thread."""
        with self._lock:
            self._is_ending = True
            self._queue.put(None)
        self._thread.join()

    @property
    def is_here(self) -> bool:
        """Whether the calling thread is the writer's thread."""
        return get_ident() == self._ident

    def submit(self, waiting: Waiting) -> None:
        """Queue a request for the next shared transaction. The writer calls `waiting.finish` after the commit.

        Raise WriterEnded after `stop`.
        """
        with self._lock:
            if self._is_ending:
                raise WriterEnded
            self._queue.put(waiting)

    def commit(self, why: str, work: Callable[[Tx], T], by: Caller, request: tuple[object, ...]) -> T:
        """Commit one change for the calling thread, wait for the commit, and return its result or raise its error."""
        done = Lock()
        done.acquire()
        waiting = Waiting(lambda: self.transact(why, work, by, *request), lambda _: done.release())
        self.submit(waiting)
        done.acquire()
        if waiting.error is not None:
            raise waiting.error
        result: T = waiting.result
        return result

    def transact(self, why: str, work: Callable[[Tx], T], by: Caller, *request: object) -> T:
        """Commit a change in the open shared transaction, or in one of its own. Only the writer's thread calls this."""
        store = self._opened()
        return (store.transact_within if self._is_shared else store.transact)(why, work, by, *request)

    def read(self, work: Callable[[Rows], T]) -> T:
        """Read with the writer's connection, inside the open shared transaction if there is one.

        Only the writer's thread calls this.
        """
        store = self._opened()
        return store.read_within(work, _NOBODY) if self._is_shared else store.read(work)

    # the thread -------------------------------------------------------------------------------------------------------
    _is_shared = False

    def _run(self) -> None:
        """Commit batches of requests and hand out their outcomes, until the end. Runs in the writer's thread."""
        self._ident = get_ident()
        while (first := self._next(wait=True)) is not None:
            done = self._do_together(first)
            freed_at = monotonic()
            for waiting in done:
                waiting.finish(waiting)
            self.committed()
            # Others may have had their turn while the answers were sent.
            left = freed_at + _TURN_OF_OTHERS - monotonic()
            if left > 0 and not self._queue.empty():
                sleep(left)
        if self.store is not None:
            self.store.close()

    def _next(self, *, wait: bool) -> Waiting | None:
        """Return the request that has waited longest. None at the end; without `wait`, also when none waits."""
        if not wait and self._queue.empty():
            return None
        waiting = self._queue.get()
        if waiting is None:
            self._queue.put(None)  # whoever looks next sees the end, too
        return waiting

    def _do_together(self, first: Waiting) -> list[Waiting]:
        """Perform a request and those that wait behind it in one transaction. Returns them with their outcomes.

        When that transaction is lost, each is performed again in its own.
        """
        batch: list[Waiting] = []
        try:
            store = self._opened()
            store.open_shared(_NOBODY)
        except BaseException as error:  # noqa: BLE001 - the store cannot be written: all of them are told
            first.error = error
            self._forget_store()
            return [first]
        self._is_shared = True
        try:
            self._do_each(first, batch)
            self._is_shared = False
            store.close_shared(f"{len(batch)} changes together", commit=True)
        except BaseException:  # noqa: BLE001 - also a commit whose outcome is not known
            if self._is_shared:
                self._is_shared = False
                store.close_shared("undo", commit=False)
            self._do_alone(batch)
        self._count(batch)
        return batch

    def _do_each(self, first: Waiting, batch: list[Waiting]) -> None:
        """Perform `first` and the requests behind it, up to the limits of number and time, and append each to `batch`."""
        until = monotonic() + self._longest
        waiting: Waiting | None = first
        while waiting is not None:
            batch.append(waiting)
            waiting.perform()
            waiting = self._next(wait=False) if len(batch) < self._most and monotonic() < until else None

    def _do_alone(self, batch: list[Waiting]) -> None:
        """Perform each request in a transaction of its own, because the shared one was lost."""
        self.figures.lost += 1
        for waiting in batch:
            waiting.perform()

    def _count(self, batch: list[Waiting]) -> None:
        """Add a batch of requests to the figures."""
        self.figures.batches += 1
        self.figures.requests += len(batch)
        self.figures.largest = max(self.figures.largest, len(batch))

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
    """The store of one thread of the daemon: it reads by its own connection, and the writer commits for it."""

    def __init__(self, writer: Writer, open_store: Callable[[], Store]) -> None:
        self._writer = writer
        self._open_own = open_store
        self._own: Store | None = None

    @property
    def kind(self) -> str:  # type: ignore[override]
        """The kind of the database: sqlite or postgresql."""
        return self._reader.kind

    def transact(self, why: str, work: Callable[[Tx], T], by: Caller, *request: object) -> T:
        """Commit a change through the writer, together with other requests that wait."""
        if self._writer.is_here:
            return self._writer.transact(why, work, by, *request)
        return self._writer.commit(why, work, by, request)

    def read(self, work: Callable[[Rows], T]) -> T:
        """Read from one snapshot; in the writer's thread, from the shared transaction."""
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
