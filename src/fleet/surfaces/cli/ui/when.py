"""Read times that people give on the command line, and say until when an engine is held back."""

from __future__ import annotations

from datetime import datetime

from fleet.model.text import moments
from fleet.model.text.times import SECOND, utc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.api.fleet import Fleet


def read_time(given: str | None, fleet: Fleet, *, back: bool = False) -> int | None:
    """Return the time that a person wrote (`2h`, `18:00`, a date) in milliseconds; None for None."""
    if given is None:
        return None
    return moments.moment(given, now=fleet.clock.now(), local=None, back=back)


def held_in_words(until: str | None, now: int) -> str:
    """Say how long an engine is held back, after its name. A limit whose time has passed is tried by the next agent."""
    if until is None:
        return "is held back until somebody logs in"
    is_over = datetime.fromisoformat(until).timestamp() * SECOND <= now
    return "is tried by the next agent, after its limit" if is_over else f"is held back until {utc(until)}"
