"""Taking turns: what is compared is measured in the same minute, so a busy machine slows both alike."""

from __future__ import annotations

from statistics import fmean, median, quantiles
from time import perf_counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Act = Callable[[], float]


class Sample:
    """Many times of one thing, in seconds."""

    def __init__(self, times: list[float]) -> None:
        self.times = times

    @property
    def median(self) -> float:
        """The middle one."""
        return median(self.times)

    @property
    def mean(self) -> float:
        """All of them shared out: what is rare but slow (a checkpoint) is in here and not in the median."""
        return fmean(self.times)

    @property
    def slowest(self) -> float:
        """The worst."""
        return max(self.times)

    @property
    def spread(self) -> float:
        """Half the distance between the quartiles, as a part of the median: how far to trust it."""
        first, _, third = quantiles(self.times, n=4)
        return (third - first) / 2 / self.median


def timed(work: Callable[[], object]) -> Act:
    """The work, as an act that says how long it took."""

    def act() -> float:
        started = perf_counter()
        work()
        return perf_counter() - started

    return act


def taking_turns(acts: Mapping[str, Act], *, rounds: int, warm: int = 1) -> dict[str, Sample]:
    """Each act once a round, in every place of the order by turns, so that none always comes first or after the same."""
    found: dict[str, list[float]] = {name: [] for name in acts}
    for number in range(-warm, rounds):
        for name in _order(list(acts), number):
            seconds = acts[name]()
            if number >= 0:
                found[name].append(seconds)
    return {name: Sample(times) for name, times in found.items()}


def _order(names: list[str], number: int) -> list[str]:
    """Shifted by one each round, and backwards every other time around."""
    around, shift = divmod(number, len(names))
    shifted = names[shift:] + names[:shift]
    return shifted[::-1] if around % 2 else shifted
