"""Suggest the most similar existing name after a name was not found."""

from __future__ import annotations

from fleet import errors
from fleet.api.fleet import Fleet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.errors.families import Absent


def suggest(error: Absent) -> None:
    """Add the most similar name to an error about a missing task, project or agent, as its fact `near`."""
    if not isinstance(error, errors.NoSuchTask | errors.NoSuchProject | errors.NoSuchDispatch):
        return
    try:
        with Fleet.open(make=False) as fleet:
            near = fleet.views.nearest(error)
    except errors.FleetError:  # without a readable store the error itself is all that can be said
        return
    if near:
        error.facts.update(near=near)
