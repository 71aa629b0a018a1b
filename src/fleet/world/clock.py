"""What time it is."""

from __future__ import annotations

import os
import time as clocks
from time import monotonic, sleep, time

from fleet.model.text.times import SECOND


class Clock:
    """The machine's clock."""

    __slots__ = ()

    def now(self) -> int:
        """Milliseconds since 1970."""
        return int(time() * SECOND)

    def begun(self) -> int:
        """When this process was started, by the same clock; now, where the kernel does not say.

        A process that somebody starts to tell of an event may get its turn late: its start is nearer to the event.
        """
        try:
            with open("/proc/self/stat", "rb") as file:
                ticks = int(file.read().rpartition(b")")[2].split()[19])
            age = clocks.clock_gettime(clocks.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
        except (OSError, ValueError, IndexError, AttributeError):
            age = 0.0
        return int((time() - max(age, 0.0)) * SECOND)

    def ticks(self) -> float:
        """Seconds on a clock that is never set back."""
        return monotonic()

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        sleep(seconds)
