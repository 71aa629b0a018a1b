"""The states of a coordinator's seat: empty or held, each with or without a candidate; and the events between them."""

from __future__ import annotations

from fleet.model.text.times import MINUTE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Seat(Protocol):
        """A row of the seats table."""

        @property
        def holder(self) -> str | None: ...
        @property
        def candidate(self) -> str | None: ...

    class Restarts(Protocol):
        """A row of the restarts table: the dead loop that was restarted last, how often in a row, and when (ms)."""

        @property
        def holder(self) -> str: ...
        @property
        def tries(self) -> int: ...
        @property
        def at(self) -> int: ...


STATES = ("empty", "held", "empty_with_candidate", "held_with_candidate")
# The engine that is fleet's own coordinator, without a model.
OWN_LOOP = "fleet"
# A loop that ran for this long is good: the restarts before it are forgotten.
_RAN_WELL = 10 * MINUTE
# take: a new coordinator becomes the holder at once. nominate: it becomes the candidate. prove: the candidate becomes
# the holder. withdraw: the candidate is removed. vacate: the holder is removed.
EVENTS = ("take", "nominate", "prove", "withdraw", "vacate")

STEPS = {
    ("empty", "take"): "held",
    ("held", "take"): "held",  # the old holder has ended
    ("empty", "nominate"): "empty_with_candidate",
    ("held", "nominate"): "held_with_candidate",
    ("empty_with_candidate", "prove"): "held",
    ("held_with_candidate", "prove"): "held",
    ("empty_with_candidate", "withdraw"): "empty",
    ("held_with_candidate", "withdraw"): "held",
    ("held", "vacate"): "empty",
    ("held_with_candidate", "vacate"): "empty_with_candidate",
}


def seat_state(seat: Seat) -> str:
    """Return the state of a seat, from its holder and its candidate, such as `held` or `held_with_candidate`."""
    held = "empty" if seat.holder is None else "held"
    return held if seat.candidate is None else f"{held}_with_candidate"


def is_own_loop(seat: Seat, *, engine: str | None, asked_for: str | None) -> bool:
    """Return whether the seat is held by fleet's own coordinator loop, has no candidate, and nobody asked the loop to exit.

    `engine` is the holder's engine; `asked_for` is None when nobody asked it to exit.
    """
    return seat_state(seat) == "held" and engine == OWN_LOOP and asked_for is None


def restarts_so_far(last: Restarts | None, holder: str, ran: int) -> int:
    """Return how often fleet has restarted the coordinator loop since a loop last ran for ten minutes.

    `last` is the record of restarts, `holder` the dead loop, `ran` how many milliseconds it ran.
    """
    if last is None or (last.holder != holder and ran >= _RAN_WELL):
        return 0
    return last.tries


def may_restart(last: Restarts | None, *, holder: str, ran: int, now: int, most: int) -> bool:
    """Return whether fleet restarts a dead coordinator loop (dispatch `holder`) by itself. `last` is the record of restarts.

    `ran` is how many milliseconds the loop ran. False when it died within its first minute: it would die again, and a
    person has to see why. False when the last restart was within the last minute and may be under way, and after `most`
    restarts. A negative `ran`, because the clock was set back, does not prevent a restart.
    """
    under_way = last is not None and 0 <= now - last.at < MINUTE
    return (ran >= MINUTE or ran < 0) and not under_way and restarts_so_far(last, holder, ran) < most
