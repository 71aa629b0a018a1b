"""What time it is."""

from __future__ import annotations

from time import monotonic, sleep, time

from fleet.model.times import SECOND


class Clock:
    """The machine's clock."""

    __slots__ = ()

    def now(self) -> int:
        """Milliseconds since 1970."""
        return int(time() * SECOND)

    def ticks(self) -> float:
        """Seconds on a clock that is never set back."""
        return monotonic()

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        sleep(seconds)
