"""The machine's clock: read the time, and wait."""

from __future__ import annotations

import os
import time as clocks
from time import monotonic, sleep, time

from fleet.model.text.times import SECOND


class Clock:
    """The machine's clock."""

    __slots__ = ()

    def now(self) -> int:
        """Return the time in milliseconds since 1970."""
        return int(time() * SECOND)

    def begun(self) -> int:
        """Return when this process started, in milliseconds since 1970; the present time where the kernel does not say.

        A process that is started to report an event may run late: its start is closer to the event.
        """
        try:
            with open("/proc/self/stat", "rb") as file:
                ticks = int(file.read().rpartition(b")")[2].split()[19])
            age = clocks.clock_gettime(clocks.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
        except (OSError, ValueError, IndexError, AttributeError):
            age = 0.0
        return int((time() - max(age, 0.0)) * SECOND)

    def ticks(self) -> float:
        """Return the seconds of a monotonic clock; only their differences mean something."""
        return monotonic()

    def wait(self, seconds: float) -> None:
        """Sleep for this many seconds."""
        sleep(seconds)
