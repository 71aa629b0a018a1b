"""The daemon of a home, as a process: who it is, and which dispatches its threads are starting."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class DaemonProcess:
    """Says that this process is the daemon. All homes that its threads have open share one object of this class.

    The process of a command dies when its work fails in the middle, and its death proves that nobody goes on with that
    work. The daemon lives on, so its threads say here what they are working on.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._starting: set[str] = set()

    @contextmanager
    def starting(self, dispatch: str) -> Iterator[None]:
        """Note that this thread starts a dispatch for as long as the block runs."""
        with self._lock:
            self._starting.add(dispatch)
        try:
            yield
        finally:
            with self._lock:
                self._starting.discard(dispatch)

    def is_starting(self, dispatch: str) -> bool:
        """Whether a thread of the daemon is starting a dispatch."""
        with self._lock:
            return dispatch in self._starting
