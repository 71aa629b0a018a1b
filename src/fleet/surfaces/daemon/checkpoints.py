"""Copy SQLite's write-ahead log into the database in a thread of its own.

SQLite would copy it within a commit as soon as it has 1000 pages, and every client that waits for the commit would wait for
that too. SQLite begins the log anew only when all of it is copied and nothing was added meanwhile. So while changes are
made all the time, the log grows to 4000 pages in spite of this thread; then a commit copies what is left, the last pages.
"""

from __future__ import annotations

from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.store.sqlite import SqliteStore

# After about this many pages the thread copies the log.
EVERY = 1_000
# At this many pages a commit of the writer's connection copies the log.
LAST_RESORT = 4_000
# A transaction of n requests changes about 4 + n / 4 pages: measured with `fleet log`.
_PAGES, _REQUESTS_A_PAGE = 4, 4


class Checkpoints:
    """The thread that copies the write-ahead log."""

    def __init__(self, open_store: Callable[[], SqliteStore]) -> None:
        self._open_store = open_store
        # A number of pages tells the thread to copy the log, because about so many were added; None tells it to end.
        self._asked: SimpleQueue[int | None] = SimpleQueue()
        # About how many pages were added since the thread was last told to copy the log.
        self._pages = 0
        self._thread = Thread(target=self._run, name="checkpoints", daemon=True)
        # Why the log could not be copied the last time; None when it could be.
        self._error: Exception | None = None
        # Logs that the log cannot be copied, and that it can be again.
        self.log: Callable[..., None] = lambda *_event, **_facts: None

    def start(self) -> None:
        """Start the thread, unless it was started."""
        if self._thread.ident is None:
            self._thread.start()

    def stop(self, seconds: float) -> None:
        """End the thread, if it was started, after what it was told to do; wait for that at most this many seconds."""
        self._asked.put(None)
        if self._thread.ident is not None:
            self._thread.join(seconds)

    def count(self, requests: int) -> None:
        """Count a transaction of this many requests, and let the thread copy the log after about 1000 pages.

        Returns at once.
        """
        self._pages += _PAGES + requests // _REQUESTS_A_PAGE
        if self._pages >= EVERY:
            self._asked.put(self._pages)
            self._pages = 0

    def _run(self) -> None:
        """Copy the write-ahead log into the database whenever that is asked for, until `stop`. Runs in the thread.

        A failure is logged, and the copy is tried again with a new store the next time it is asked for.
        """
        store: SqliteStore | None = None
        while self._asked.get() is not None:
            try:
                store = store or self._open_store()
                store.checkpoint()
            except Exception as error:  # noqa: BLE001 - the next time it is tried again
                _close(store)
                store = None
                self._note(error)
            else:
                self._note(None)
        _close(store)

    def _note(self, error: Exception | None) -> None:
        """Log the first of several errors in a row, and then that the log is copied again (None)."""
        was, self._error = self._error, error
        if error is not None and was is None:
            self.log("cannot copy the write-ahead log", why=f"{type(error).__name__}: {error}")
        if error is None and was is not None:
            self.log("copies the write-ahead log again")


def _close(store: SqliteStore | None) -> None:
    """Close a store, if there is one. An error is ignored: the store is not used again."""
    with suppress(Exception):
        if store is not None:
            store.close()
