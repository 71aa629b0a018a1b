"""Ids that are the same in each run."""

from __future__ import annotations

from fleet.world.ids import Ids

_SPREAD = 2_654_435_761  # so that no two begin alike
_DISPATCHES = 1 << 32


class SimulatedIds(Ids):
    """Numbered names. All processes of one machine share the numbers."""

    def __init__(self) -> None:
        self._last = 0

    def dispatch(self) -> str:
        """Eight hexadecimal digits."""
        return f"{self._next() * _SPREAD % _DISPATCHES:08x}"

    def key(self) -> str:
        """A name for one request."""
        return f"{self._next():024x}"

    def share(self) -> float:
        """Always the middle."""
        return 0.5

    def conversation(self) -> str:
        """A UUID."""
        return f"00000000-0000-4000-8000-{self._next():012x}"

    def _next(self) -> int:
        self._last += 1
        return self._last
