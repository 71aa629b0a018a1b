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
        """A row of the restarts table."""

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
    """Return the state of a seat, from its holder and its candidate."""
    held = "empty" if seat.holder is None else "held"
    return held if seat.candidate is None else f"{held}_with_candidate"


def is_own_loop(seat: Seat, *, engine: str | None, asked_for: str | None) -> bool:
    """Whether a seat's holder is fleet's own loop, which nobody asked to exit and nobody follows.

    A coordinator that is an agent is a person's to resume, and a stopped one has left the seat.
    """
    return seat_state(seat) == "held" and engine == OWN_LOOP and asked_for is None


def restarts_so_far(last: Restarts | None, holder: str, ran: int) -> int:
    """Return how often a loop was started again since one ran well; `ran` is how long the dead holder did."""
    if last is None or (last.holder != holder and ran >= _RAN_WELL):
        return 0
    return last.tries


def may_restart(last: Restarts | None, *, holder: str, ran: int, now: int, most: int) -> bool:
    """Whether fleet starts a dead loop again by itself: it did not die at its start, and the restarts before did not all fail.

    `ran` is how many milliseconds it ran: a loop that dies within a minute would die again, and a person has to see why.
    Never twice within a minute: the one before may be under way. A clock that was set back meanwhile proves neither.
    """
    under_way = last is not None and 0 <= now - last.at < MINUTE
    return (ran >= MINUTE or ran < 0) and not under_way and restarts_so_far(last, holder, ran) < most
