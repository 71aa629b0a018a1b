"""The threads that work on requests: as many as are needed at once, up to a limit."""

from __future__ import annotations

from queue import SimpleQueue
from threading import Lock, Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

MOST = 16


class Workers:
    """A pool of threads. An act must not raise."""

    def __init__(self, *, most: int = MOST, leave: Callable[[], None] = lambda: None) -> None:
        self._most = most
        self._leave = leave
        self._queue: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._threads: list[Thread] = []
        self._idle = 0
        self._lock = Lock()

    def submit(self, act: Callable[[], None]) -> None:
        """Let a thread do something soon."""
        with self._lock:
            if self._idle <= self._queue.qsize() and len(self._threads) < self._most:
                thread = Thread(target=self._run, name=f"worker-{len(self._threads)}", daemon=True)
                self._threads.append(thread)
                thread.start()
        self._queue.put(act)

    def stop(self, seconds: float) -> None:
        """End the threads after the requests that wait; wait a bounded time for each thread."""
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads:
            thread.join(seconds)

    def _run(self) -> None:
        while (act := self._next()) is not None:
            act()
        self._leave()

    def _next(self) -> Callable[[], None] | None:
        with self._lock:
            self._idle += 1
        act = self._queue.get()
        with self._lock:
            self._idle -= 1
        return act
