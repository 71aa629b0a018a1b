"""Copy SQLite's write-ahead log into the database in a thread of its own.

SQLite would copy it within a commit as soon as it has 1000 pages, and every client that waits for the commit would wait for
that too. The writer's connection copies it only when it has grown to 4000 pages, because this thread did not keep up.
"""

from __future__ import annotations

from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.store.sqlite import SqliteStore

# After this many requests the log is copied; a request changes about four pages.
EVERY = 300
# At this many pages the writer's connection copies the log itself, within a commit.
LAST_RESORT = 4_000


class Checkpoints:
    """The thread that copies the write-ahead log."""

    def __init__(self, open_store: Callable[[], SqliteStore]) -> None:
        self._open_store = open_store
        # A number of requests tells the thread to copy the log, because so many were committed; None tells it to end.
        self._asked: SimpleQueue[int | None] = SimpleQueue()
        # How many requests were committed since the thread was last told to copy the log.
        self._since = 0
        self._thread = Thread(target=self._run, name="checkpoints", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self, seconds: float) -> None:
        """End the thread after what it was told to do, and wait for that at most this many seconds."""
        self._asked.put(None)
        self._thread.join(seconds)

    def count(self, requests: int) -> None:
        """Count requests that were committed, and let the thread copy the log after each 300. Returns at once."""
        self._since += requests
        if self._since >= EVERY:
            self._asked.put(self._since)
            self._since = 0

    def _run(self) -> None:
        """Copy the log whenever that is asked for, until `stop`. Runs in the thread."""
        store: SqliteStore | None = None
        while self._asked.get() is not None:
            try:
                store = store or self._open_store()
                store.checkpoint()
            except Exception:  # noqa: BLE001 - the writer meets the same trouble, and tells whoever asks
                _close(store)
                store = None
        _close(store)


def _close(store: SqliteStore | None) -> None:
    """Close a store, if there is one. An error is ignored: the store is not used again."""
    with suppress(Exception):
        if store is not None:
            store.close()
