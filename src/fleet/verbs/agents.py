"""Agents as people see them: who works on what, how it goes, and where that was learnt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fleet.engines.reader import engine as read_engine
from fleet.engines.reader import state_of
from fleet.errors import FleetError
from fleet.model.identity import Identity
from fleet.model.times import iso, iso_or_none
from fleet.store import queries as q

if TYPE_CHECKING:
    from fleet.store.transaction import Row
    from fleet.verbs.ground import Ground
    from fleet.world.tmux import Listing


def agents(ground: Ground, project: str | None = None, *, screens: bool = True) -> list[dict[str, Any]]:
    """Every unfinished dispatch, coordinators too."""
    rows = ground.store.read(lambda snapshot: snapshot.all(q.LISTED_DISPATCHES, project=project, ended=0))
    listing = ground.world.tmux.listing()
    return [_agent(ground, row, listing, screens=screens) for row in rows]


def _agent(ground: Ground, row: Row, listing: Listing, *, screens: bool) -> dict[str, Any]:
    state, source, detail = _state(ground, row, listing, screens=screens)
    return {
        "id": row["id"],
        "kind": row["kind"],
        "project": row["project"],
        "task": row["slug"],
        "engine": row["engine"],
        "autonomy": row["autonomy"],
        "state": state,
        "source": source,
        "detail": detail,
        "session": f"fleet-{row['id']}",
        "host": row["host"],
        "process": row["process"],
        "started_at": iso(row["created_at"]),
        "launched_at": iso_or_none(row["launched_at"]),
        "report": row["report"],
        "asked_for": row["asked_for"],
    }


def _state(ground: Ground, row: Row, listing: Listing, *, screens: bool) -> tuple[str, str, str]:
    """What it is doing, who says so, and the detail. Unknown is shown as unknown."""
    if row["exec_state"] == "pending":
        return "starting", "store", ""
    life = ground.world.processes.life(Identity.parse(row["process"] or ""))
    if life == "dead":
        return "exited", "process", "not settled yet"
    if life == "unknown":
        return "unknown", "process", f"host {row['host']}" if row["host"] != ground.world.host.id else ""
    if row["report"]:
        return f"reported {row['report']}", "report", row["report_reason"] or ""
    return _by_screen(ground, row, listing) if screens else ("running", "process", "")


def _by_screen(ground: Ground, row: Row, listing: Listing) -> tuple[str, str, str]:
    pane = listing.pane(f"fleet-{row['id']}")
    text = ground.world.tmux.capture(pane.session_id, history=False) if pane else None
    try:
        state, question = state_of(read_engine(ground.world.home, row["engine"]), text or "")
    except FleetError:
        return "running", "process", ""
    return ("running", "process", "") if state == "unknown" else (state, "screen", question)
