"""Simulated ids, which are the same in each run; only secrets (`token`) are random as in the real world."""

from __future__ import annotations

from fleet.world.ids import Ids

_SPREAD = 2_654_435_761  # spreads the ids, so that no two begin alike
_DISPATCHES = 1 << 32  # how many ids of eight hexadecimal digits there are


class SimulatedIds(Ids):
    """Make ids by counting. All processes of a machine share the counter."""

    def __init__(self) -> None:
        self._last = 0

    def dispatch(self) -> str:
        """Return a new dispatch id of eight hexadecimal digits."""
        return f"{self._next() * _SPREAD % _DISPATCHES:08x}"

    def key(self) -> str:
        """Return a new idempotency key."""
        return f"{self._next():024x}"

    def random_fraction(self) -> float:
        """Return 0.5 in place of a random number from 0 to 1."""
        return 0.5

    def conversation(self) -> str:
        """Return a new UUID for a conversation."""
        return f"00000000-0000-4000-8000-{self._next():012x}"

    def skip(self, count: int) -> None:
        """Skip the next `count` ids, which a process forked from this one may have used."""
        self._last += count

    def _next(self) -> int:
        self._last += 1
        return self._last
