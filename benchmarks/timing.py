"""Measure what is compared in turns, so that a busy machine slows both alike."""

from __future__ import annotations

from statistics import fmean, median, quantiles
from time import perf_counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Act = Callable[[], float]


class Sample:
    """The measured times of one act, in seconds."""

    def __init__(self, times: list[float]) -> None:
        self.times = times

    @property
    def median(self) -> float:
        """Return the median time."""
        return median(self.times)

    @property
    def mean(self) -> float:
        """Return the mean time, which unlike the median includes rare slow ones such as a checkpoint."""
        return fmean(self.times)

    @property
    def slowest(self) -> float:
        """Return the longest time."""
        return max(self.times)

    @property
    def spread(self) -> float:
        """Return half the distance between the quartiles, as a part of the median: a measure of the noise."""
        first, _, third = quantiles(self.times, n=4)
        return (third - first) / 2 / self.median


def timed(work: Callable[[], object]) -> Act:
    """Return an act that does the work and returns the seconds that it took."""

    def act() -> float:
        started = perf_counter()
        work()
        return perf_counter() - started

    return act


def taking_turns(acts: Mapping[str, Act], *, rounds: int, warm: int = 1) -> dict[str, Sample]:
    """Perform each act once a round, in rotating order, and return the times of each by name.

    The order rotates so that no act always comes first or after the same one. `warm` rounds before are not counted.
    """
    found: dict[str, list[float]] = {name: [] for name in acts}
    for number in range(-warm, rounds):
        for name in _order(list(acts), number):
            seconds = acts[name]()
            if number >= 0:
                found[name].append(seconds)
    return {name: Sample(times) for name, times in found.items()}


def _order(names: list[str], number: int) -> list[str]:
    """Return the names rotated by one more each round, and reversed every other time around."""
    around, shift = divmod(number, len(names))
    shifted = names[shift:] + names[:shift]
    return shifted[::-1] if around % 2 else shifted
