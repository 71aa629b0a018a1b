"""Times as people write them, in their own time zone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.model.text import moments

if TYPE_CHECKING:
    from fleet.api.fleet import Fleet


def moment(given: str | None, fleet: Fleet, *, back: bool = False) -> int | None:
    """A time as people write it, in their own time zone."""
    if given is None:
        return None
    return moments.moment(given, now=fleet.clock.now(), local=None, back=back)
