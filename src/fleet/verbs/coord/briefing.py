"""A briefing: what a coordinator needs to know next, in a few lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fleet.model.text import escapes
from fleet.store import queries as q

if TYPE_CHECKING:
    from fleet.store.queries import TaskTrouble
    from fleet.store.transaction import Rows

_SHOWN = 20
_REASON = 300


def briefing(rows: Rows, project: str, now: int) -> dict[str, Any]:
    """Who works, what waits for whom, what is ready, what is in trouble."""
    working = q.listed_dispatches(rows, project=project, ended=0)
    waiting = q.waiting_stages(rows, project=project)
    troubled = q.trouble_of(rows, project=project, most=_SHOWN)
    ready = q.ready_tasks(rows, project=project, now=now, most=_SHOWN)
    return {
        "working": [{"id": row.id, "kind": row.kind, "task": row.slug} for row in working if row.kind != "coord"],
        "ready": [row.slug for row in ready],
        "to_review": [row.slug for row in waiting if row.stage == "review"],
        "to_merge": [row.slug for row in q.mergeable_tasks(rows, project=project)],
        "trouble": [_trouble(row) for row in troubled],
        "handoffs": [row.dispatch for row in q.queued_handoffs(rows, project=project)],
    }


def _trouble(row: TaskTrouble) -> dict[str, Any]:
    reason = " ".join((row.reason or "").split())
    return {"task": row.slug, "status": row.status, "reason": escapes.cut(reason, _REASON)}


def messages(rows: Rows, ident: str) -> list[dict[str, Any]]:
    """What waits to be read by the coordinator itself."""
    keep = ("id", "kind", "sender", "text")
    return [{name: row[name] for name in keep} for row in q.waiting_messages(rows, dispatch=ident)]
