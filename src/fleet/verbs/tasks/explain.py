"""Explain why a task is not being worked on: a sentence a blocker, to the root of the chain."""

from __future__ import annotations

from fleet.model import names
from fleet.model.tasks import fence
from fleet.model.tasks.steps import SATISFIED
from fleet.model.text.times import iso
from fleet.store import queries as q
from fleet.store import tasks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fleet.store.queries import WholeTask
    from fleet.store.transaction import Rows

MOST = 200


def why(rows: Rows, project: str, slug: str, now: int) -> dict[str, Any]:
    """The task's own state first, then whatever it waits for, near and far."""
    names.project(project)
    row = q.task_whole(rows, project=project, slug=names.slug(slug))
    if row is None:
        raise tasks.missing(rows, project, slug)
    chain: list[dict[str, Any]] = []
    _walk(rows, project, slug, now, chain)
    clause = _waiting_work(rows, project, row) or _clause(row, now)
    return {
        "project": project,
        "slug": slug,
        "status": row.status,
        "ready": clause == "is ready",
        "sentences": [f"{slug} {clause}", *(each["sentence"] for each in chain)],
        "chain": chain,
    }


def _walk(rows: Rows, project: str, slug: str, now: int, chain: list[dict[str, Any]]) -> None:
    """Breadth first, each blocker once, so that a wide graph stays readable."""
    queue, seen = [(slug, 0)], {slug}
    for here, depth in queue:
        for need in q.task_needs(rows, project=project, slug=here):
            if need.status in SATISFIED or len(chain) >= MOST:
                continue
            clause = _waiting_work(rows, project, need) or _clause(need, now)
            sentence = f"{here} waits for {need.slug}, which {clause}"
            chain.append({"slug": here, "needs": need.slug, "depth": depth, "sentence": sentence})
            if need.slug not in seen:
                seen.add(need.slug)
                queue.append((need.slug, depth + 1))


def _waiting_work(rows: Rows, project: str, row: WholeTask) -> str:
    """What work waits for that is in nobody's hands any more; empty when it is in somebody's."""
    slug = row.slug
    state = tasks.state(rows, project, slug)
    if row.status != "in_progress" or not fence.is_waiting(state):
        return ""
    if state.stage == "review":
        return f"waits for a review: `fleet review {slug} -p {project}`"
    return f"is finished and waits to be merged: `fleet merge {slug} -p {project}`"


def _clause(row: WholeTask, now: int) -> str:
    """What a task does, to be read behind its name."""
    status = row.status
    because = f": {' '.join(row.reason.split())}" if row.reason else ""
    if status == "in_progress":
        return f"is being worked on by {row.assignee}"
    if status == "failed":
        return f"failed{because}"
    if status != "open":
        return f"is {status}{because}"
    if row.paused:
        return "is paused"
    return _waiting(row, now)


def _waiting(row: WholeTask, now: int) -> str:
    if row.open_blockers:
        n = row.open_blockers
        return f"waits for {n} other task{'' if n == 1 else 's'}"
    if row.not_before is not None and row.not_before > now:
        return f"waits until {iso(row.not_before)}"
    return "is ready"
