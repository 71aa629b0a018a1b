"""The threads that work on light requests: as many as are needed at once, up to a limit."""

from __future__ import annotations

from queue import SimpleQueue
from threading import Lock, Thread
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

MOST = 16


class Workers:
    """A pool of at most `most` threads that call functions. The error that a function raises is only logged.

    Each thread calls `leave` at its end.
    """

    def __init__(self, *, log: Callable[..., None], most: int = MOST, leave: Callable[[], None] = lambda: None) -> None:
        self._log = log
        self._most = most
        self._leave = leave
        self._queue: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._threads: list[Thread] = []
        self._idle = 0
        self._lock = Lock()

    def submit(self, act: Callable[[], None]) -> None:
        """Queue `act` for a thread of the pool. When no thread is free, start another one, up to the limit."""
        with self._lock:
            if self._idle <= self._queue.qsize() and len(self._threads) < self._most:
                thread = Thread(target=self._run, name=f"worker-{len(self._threads)}", daemon=True)
                thread.start()
                self._threads.append(thread)
        self._queue.put(act)

    def stop(self, until: float) -> None:
        """End the threads once the waiting acts are done; wait for them until this time of the monotonic clock."""
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads:
            thread.join(max(0.0, until - monotonic()))

    def _run(self) -> None:
        """Call acts until the end, then `leave`. Runs in each thread of the pool."""
        while (act := self._next()) is not None:
            try:
                act()
            except BaseException as error:  # noqa: BLE001 - the thread goes on with the next act
                self._log("failed at a request", why=f"{type(error).__name__}: {error}")
        self._leave()

    def _next(self) -> Callable[[], None] | None:
        """Return the next act, waiting for it; None when the thread has to end."""
        with self._lock:
            self._idle += 1
        act = self._queue.get()
        with self._lock:
            self._idle -= 1
        return act
