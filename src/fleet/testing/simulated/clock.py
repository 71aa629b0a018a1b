"""A simulated clock: time passes only when a test or a waiting verb makes it pass."""

from __future__ import annotations

import heapq
from itertools import count
from typing import TYPE_CHECKING

from fleet.model.text.times import SECOND
from fleet.world.clock import Clock

if TYPE_CHECKING:
    from collections.abc import Callable

NEW_YEAR = 1_767_225_600_000  # 2026-01-01 in UTC


class SimulatedClock(Clock):
    """The wall clock, which can be set, and the seconds since boot, which cannot."""

    def __init__(self, now: int = NEW_YEAR) -> None:
        self._now = now
        self._ticks = 1000.0
        self._due: list[tuple[float, int, Callable[[], object]]] = []
        self._order = count()

    def now(self) -> int:
        """Return the wall clock, in milliseconds since 1970."""
        return self._now

    def begun(self) -> int:
        """Return when this process started, in milliseconds since 1970: always the present time."""
        return self._now

    def ticks(self) -> float:
        """Return the seconds on a clock that is never set back."""
        return self._ticks

    def wait(self, seconds: float) -> None:
        """Let `seconds` pass, and perform the acts planned by `later` when they are due."""
        until = self._ticks + seconds
        while self._due and self._due[0][0] <= until:
            due, _, act = heapq.heappop(self._due)
            self._advance(due)
            act()
        self._advance(until)

    def set(self, now: int) -> None:
        """Set the wall clock, forwards or back; no time passes."""
        self._now = now

    def later(self, seconds: float, act: Callable[[], object]) -> None:
        """Plan `act`: `wait` calls it, one time, when this many seconds from now have passed."""
        heapq.heappush(self._due, (self._ticks + seconds, next(self._order), act))

    def _advance(self, ticks: float) -> None:
        """Move the wall clock and the monotonic clock forward until the latter shows `ticks` seconds; never back."""
        passed = max(ticks - self._ticks, 0.0)
        self._ticks += passed
        self._now += round(passed * SECOND)
