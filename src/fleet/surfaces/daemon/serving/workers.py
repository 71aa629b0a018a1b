"""The threads that work on light requests: as many as are needed at once, up to a limit."""

from __future__ import annotations

from queue import SimpleQueue
from threading import Lock, Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

MOST = 16


class Workers:
    """A pool of threads. The functions that it is given must not raise."""

    def __init__(self, *, most: int = MOST, leave: Callable[[], None] = lambda: None) -> None:
        self._most = most
        self._leave = leave
        self._queue: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._threads: list[Thread] = []
        self._idle = 0
        self._lock = Lock()

    def submit(self, act: Callable[[], None]) -> None:
        """Call `act` in a thread of the pool; start another thread when none is free."""
        with self._lock:
            if self._idle <= self._queue.qsize() and len(self._threads) < self._most:
                thread = Thread(target=self._run, name=f"worker-{len(self._threads)}", daemon=True)
                self._threads.append(thread)
                thread.start()
        self._queue.put(act)

    def stop(self, seconds: float) -> None:
        """End the threads once the waiting acts are done; wait at most `seconds` for each thread."""
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads:
            thread.join(seconds)

    def _run(self) -> None:
        """Call acts until the end, then `leave`. Runs in each thread of the pool."""
        while (act := self._next()) is not None:
            act()
        self._leave()

    def _next(self) -> Callable[[], None] | None:
        """Return the next act, waiting for it; None when the thread has to end."""
        with self._lock:
            self._idle += 1
        act = self._queue.get()
        with self._lock:
            self._idle -= 1
        return act
