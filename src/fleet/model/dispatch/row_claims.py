"""Inspect the two claims that are rows of the database: an agent's record and a project's seat."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal, Protocol

    RecordLook = Literal["live", "archived", "missing"]
    SeatLook = Literal["self", "other", "missing"]

    class HasArchivedAt(Protocol):
        """A row of the table of agents."""

        archived_at: int | None


AGENT_RECORD = "agent_record"
COORD_SPAWN_MARKER = "coord_spawn_marker"


def look_at_record(agent: HasArchivedAt | None) -> RecordLook:
    """Return whether an agent's record is live, archived because its dispatch has ended, or missing.

    `agent` is the record, None when it is missing.
    """
    if agent is None:
        return "missing"
    return "live" if agent.archived_at is None else "archived"


def look_at_seat(holder: str | None, dispatch: str) -> SeatLook:
    """Return "self" when this dispatch holds a project's seat, "other" when another does, "missing" when nobody does.

    `holder` is the seat's holder, None for nobody.
    """
    if holder is None:
        return "missing"
    return "self" if holder == dispatch else "other"
