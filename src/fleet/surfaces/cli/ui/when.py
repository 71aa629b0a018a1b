"""Read times that people give on the command line."""

from __future__ import annotations

from fleet.model.text import moments

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.api.fleet import Fleet


def read_time(given: str | None, fleet: Fleet, *, back: bool = False) -> int | None:
    """Return the time that a person wrote (`2h`, `18:00`, a date) in milliseconds; None for None."""
    if given is None:
        return None
    return moments.moment(given, now=fleet.clock.now(), local=None, back=back)
