"""Repeating: a thread that fetches the same thing every few seconds, for a page that stays current."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Generic, TypeVar

from fleet.api.fleet import Fleet
from fleet.surfaces.tui.feeds.loader import describe

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class Repeating(threading.Thread, Generic[T]):
    """The thread that calls `fetch` every few seconds until it is stopped.

    It passes the result to `shown`, or the error, as text, to `failed`. `every` is in seconds.
    """

    def __init__(
        self,
        home: str,
        fetch: Callable[[Fleet], T],
        *,
        shown: Callable[[T], None],
        failed: Callable[[str], None],
        every: float = 2.0,
    ) -> None:
        super().__init__(name="fleet-page", daemon=True)
        self._home = home
        self._fetch = fetch
        self._shown = shown
        self._failed = failed
        self._every = every
        self._ended = threading.Event()

    def stop(self) -> None:
        """End the thread soon."""
        self._ended.set()

    def run(self) -> None:
        """Call `fetch` again and again until `stop`. When it fails, report why and open the home again."""
        while not self._ended.is_set():
            try:
                with Fleet.open(self._home, make=False) as fleet:
                    while not self._ended.is_set():
                        fetched = self._fetch(fleet)
                        if self._ended.is_set():  # another one fetches by now, or nobody looks
                            return
                        self._shown(fetched)
                        self._ended.wait(self._every)
            except Exception as error:  # noqa: BLE001 - whatever it is, the page says so and goes on
                self._failed(describe(error))
                self._ended.wait(self._every)
