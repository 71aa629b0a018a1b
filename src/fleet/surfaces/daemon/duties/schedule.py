"""When the next round of a duty begins: pure values, no clock and no thread."""

from __future__ import annotations

from dataclasses import dataclass

# The wait after the first failure, in seconds; each further failure doubles it, up to the longest.
FIRST_WAIT = 1.0
LONGEST_WAIT = 60.0


def wait_after_failures(failures: int) -> float:
    """Return how many seconds a duty waits after this many failures in a row."""
    return min(FIRST_WAIT * 2.0 ** min(failures - 1, 30), LONGEST_WAIT)


@dataclass(slots=True)
class Schedule:
    """When a duty ran, when it may run again, and what failed. Times are seconds on a monotonic clock.

    `every` is the interval of rounds without news; None: only news begins a round. `apart` is the shortest time
    between two rounds. The first round begins at `begins`.
    """

    every: float | None
    apart: float
    begins: float = 0.0
    ended: float | None = None
    failures: int = 0
    rounds: int = 0
    has_news: bool = True
    # News that waits for nothing but the end of a failure's wait.
    is_urgent: bool = False

    def due_at(self) -> float | None:
        """Return when the next round begins; None while only news can begin it."""
        if self.ended is None:
            return self.begins
        if self.failures:
            return self.ended + wait_after_failures(self.failures)
        if self.has_news or self.is_urgent:
            return self.ended + (0.0 if self.is_urgent else self.apart)
        return None if self.every is None else self.ended + max(self.every, self.apart)

    def seconds_left(self, now: float) -> float | None:
        """Return how long to wait for the next round; None for as long as there is no news."""
        due = self.due_at()
        return None if due is None else max(0.0, due - now)

    def begin(self) -> None:
        """Note that a round begins. News that comes during the round causes another one."""
        self.has_news = self.is_urgent = False
        self.rounds += 1

    def succeed(self, now: float, every: float | None) -> None:
        """Note that a round has ended well, and in how many seconds the next one begins without news."""
        self.ended, self.failures, self.every = now, 0, every

    def fail(self, now: float) -> None:
        """Note that a round has failed."""
        self.ended, self.failures = now, self.failures + 1
