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


STATES = ("empty", "held", "empty_with_candidate", "held_with_candidate")
# The engine that is fleet's own coordinator, without a model.
OWN_LOOP = "fleet"
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


def may_restart(seat: Seat, *, engine: str | None, asked_for: str | None, ran: int) -> bool:
    """Whether fleet starts a seat's dead holder again by itself: its own loop, which nobody asked to exit or follows.

    `ran` is the time in milliseconds since its launch: a loop that dies within a minute would die again, and a person has
    to see why. A coordinator that is an agent is a person's to resume, and a stopped one has left the seat.
    """
    return seat_state(seat) == "held" and engine == OWN_LOOP and asked_for is None and ran >= MINUTE
