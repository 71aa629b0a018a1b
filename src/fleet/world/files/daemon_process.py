"""Know inside the daemon which dispatches its threads are starting."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class DaemonProcess:
    """The dispatches that the daemon's threads are starting. All homes that the threads have open share one object.

    When the process of a command fails, its death proves that nobody continues its work. The daemon lives on, so its
    threads record here what they are working on.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._starting: set[str] = set()

    @contextmanager
    def starting(self, dispatch: str) -> Iterator[None]:
        """Record that this thread is starting a dispatch, as long as the `with` block runs."""
        with self._lock:
            self._starting.add(dispatch)
        try:
            yield
        finally:
            with self._lock:
                self._starting.discard(dispatch)

    def is_starting(self, dispatch: str) -> bool:
        """Return whether a thread of the daemon is starting a dispatch now."""
        with self._lock:
            return dispatch in self._starting
