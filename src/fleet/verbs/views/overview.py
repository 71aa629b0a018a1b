"""Overview: the projects with their counts, and what is still held although nobody needs it."""

from __future__ import annotations

from fleet.model.tasks.steps import STATUSES
from fleet.model.text.times import iso
from fleet.store import queries as q

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fleet.store.queries import Project
    from fleet.store.transaction import Rows


def overview(rows: Rows, now: int) -> dict[str, Any]:
    """Each project with its counts, and reclaim trouble in words."""
    projects = {row.name: _empty(row) for row in q.all_projects(rows)}
    for row in q.project_counts(rows):
        shown = projects[row.project]
        shown["finished"] += row.n if row.status == "done" else 0
        if row.archived:
            shown["archived"] += row.n
        else:
            shown["tasks"][row.status] += row.n
    for row in q.ready_counts(rows, now=now):
        projects[row.project]["ready"] = row.n
    for row in q.dispatch_counts(rows):
        projects[row.project]["dispatches"] = {"active": int(row.active), "blocked_reclaim": int(row.blocked)}
    kept = [_in_words(row.kind, row.n) for row in q.reclaim_trouble(rows)]
    return {"projects": list(projects.values()), "reclaim": kept}


def questions(rows: Rows) -> list[dict[str, Any]]:
    """What agents ask a person, oldest first."""
    keep = ("id", "dispatch", "project", "slug", "kind", "text", "command")
    found = q.waiting_questions(rows)
    return [{name: row[name] for name in keep} | {"asked_at": iso(row.asked_at)} for row in found]


def _in_words(kind: str, count: int) -> str:
    """2 worktrees kept: uncommitted work, or not reclaimed yet."""
    if kind == "worktree":
        return f"{count} worktree{'' if count == 1 else 's'} kept: uncommitted work, or not swept yet"
    return f"{count} {kind.replace('_', ' ')}{'' if count == 1 else 's'} not released yet"


def _empty(row: Project) -> dict[str, Any]:
    return {
        "name": row.name,
        "path": row.path,
        "added_at": iso(row.added_at),
        "ready": 0,
        "archived": 0,
        "finished": 0,
        "tasks": dict.fromkeys(STATUSES, 0),
        "dispatches": {"active": 0, "blocked_reclaim": 0},
    }
