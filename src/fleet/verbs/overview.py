"""Overview: what is going on, on one page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fleet.model.tasks import STATUSES
from fleet.model.times import iso
from fleet.store import queries as q

if TYPE_CHECKING:
    from fleet.store.transaction import Row, Rows

SHOWN = 20


def overview(rows: Rows, now: int) -> dict[str, Any]:
    """Each project with its counts; who works on what; what is in trouble."""
    projects = {row["name"]: _empty(row) for row in rows.all(q.ALL_PROJECTS)}
    for row in rows.all(q.PROJECT_COUNTS):
        shown = projects[row["project"]]
        if row["archived"]:
            shown["archived"] += row["n"]
        else:
            shown["tasks"][row["status"]] += row["n"]
    for row in rows.all(q.READY_COUNTS, now=now):
        projects[row["project"]]["ready"] = row["n"]
    for row in rows.all(q.DISPATCH_COUNTS):
        projects[row["project"]]["dispatches"] = {"active": int(row["active"]), "blocked_reclaim": int(row["blocked"])}
    working = [{**row, "started_at": iso(row["started_at"] or 0)} for row in rows.all(q.TASK_ON_HAND, most=SHOWN)]
    trouble = [{**row, "changed_at": iso(row["changed_at"])} for row in rows.all(q.TROUBLED_TASKS, most=SHOWN)]
    kept = [_in_words(row["kind"], row["n"]) for row in rows.all(q.RECLAIM_TROUBLE)]
    return {"projects": list(projects.values()), "working": working, "trouble": trouble, "reclaim": kept}


def _in_words(kind: str, count: int) -> str:
    """2 worktrees kept: uncommitted work, or not reclaimed yet."""
    if kind == "worktree":
        return f"{count} worktree{'' if count == 1 else 's'} kept: uncommitted work, or not swept yet"
    return f"{count} {kind.replace('_', ' ')}{'' if count == 1 else 's'} not released yet"


def _empty(row: Row) -> dict[str, Any]:
    return {
        "name": row["name"],
        "path": row["path"],
        "added_at": iso(row["added_at"]),
        "ready": 0,
        "archived": 0,
        "tasks": dict.fromkeys(STATUSES, 0),
        "dispatches": {"active": 0, "blocked_reclaim": 0},
    }
