"""Decide when the next round of a duty begins: pure values, no clock and no thread."""

from __future__ import annotations

from dataclasses import dataclass

# Seconds to wait after the first failure. Each further failure doubles the wait, up to the longest.
FIRST_WAIT = 1.0
LONGEST_WAIT = 60.0


def wait_after_failures(failures: int) -> float:
    """Return how many seconds a duty waits after this many failures in a row (1 or more): 1, 2, 4, … at most 60."""
    return min(FIRST_WAIT * 2.0 ** min(failures - 1, 30), LONGEST_WAIT)


@dataclass(slots=True)
class Schedule:
    """When a duty last ran, when its next round begins, and how often in a row it has failed.

    Times are seconds of a monotonic clock. `every` is the time between rounds without news; None: only news begins a
    round. `apart` is the least time between two rounds; urgent news (`is_urgent`) begins a round without waiting for
    it. The first round begins at `begins`. `ended` is when the last round ended, None before its end.
    """

    every: float | None
    apart: float
    begins: float = 0.0
    ended: float | None = None
    failures: int = 0
    # How many rounds have begun.
    rounds: int = 0
    # Whether there is news since the last round began. The first round needs none.
    has_news: bool = True
    # Urgent news: the next round does not wait for `apart`, only for the wait after a failure.
    is_urgent: bool = False

    def due_at(self) -> float | None:
        """Return the time of the monotonic clock at which the next round begins; None while only news can begin it."""
        if self.ended is None:
            return self.begins
        if self.failures:
            return self.ended + wait_after_failures(self.failures)
        if self.has_news or self.is_urgent:
            return self.ended + (0.0 if self.is_urgent else self.apart)
        return None if self.every is None else self.ended + max(self.every, self.apart)

    def seconds_left(self, now: float) -> float | None:
        """Return the seconds until the next round; None while only news can begin it."""
        due = self.due_at()
        return None if due is None else max(0.0, due - now)

    def begin(self) -> None:
        """Record that a round begins. News that arrives during the round begins another one."""
        self.has_news = self.is_urgent = False
        self.rounds += 1

    def succeed(self, now: float, every: float | None) -> None:
        """Record that a round has succeeded, and that the next one begins `every` seconds later, even without news.

        When `every` is None, only news begins the next round. `now` is the time of the monotonic clock.
        """
        self.ended, self.failures, self.every = now, 0, every

    def fail(self, now: float) -> None:
        """Record that a round has failed at `now` of the monotonic clock, so that the next one waits longer."""
        self.ended, self.failures = now, self.failures + 1
