"""Explain why a task is not being worked on: a sentence a blocker, to the root of the chain."""

from __future__ import annotations

from fleet.model import names
from fleet.model.results.tasks import Blocker, Explanation
from fleet.model.states import assert_never
from fleet.model.tasks import fence
from fleet.model.tasks.steps import SATISFIED
from fleet.model.text.times import iso
from fleet.store import queries as q
from fleet.store import tasks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.store.queries import Need, WholeTask
    from fleet.store.transaction import Rows

MOST = 200


def explain_task(rows: Rows, project: str, slug: str, now: int) -> Explanation:
    """The task's own state first, then whatever it waits for, near and far."""
    names.project(project)
    row = q.task_whole(rows, project=project, slug=names.slug(slug))
    if row is None:
        raise tasks.missing(rows, project, slug)
    chain = _blocker_chain(rows, project, slug, now)
    clause = _finished_work_clause(rows, project, row) or _state_clause(row, now)
    return Explanation(
        project=project,
        slug=slug,
        status=row.status,
        ready=clause == "is ready",
        sentences=[f"{slug} {clause}", *(each.sentence for each in chain)],
        chain=chain,
    )


def _blocker_chain(rows: Rows, project: str, slug: str, now: int) -> list[Blocker]:
    """What a task waits for: breadth first, each blocker once, so that a wide graph stays readable."""
    chain: list[Blocker] = []
    queue, seen = [(slug, 0)], {slug}
    for here, depth in queue:
        for need in q.task_needs(rows, project=project, slug=here):
            if need.status in SATISFIED or len(chain) >= MOST:
                continue
            clause = _finished_work_clause(rows, project, need) or _state_clause(need, now)
            sentence = f"{here} waits for {need.slug}, which {clause}"
            chain.append(Blocker(slug=here, needs=need.slug, depth=depth, sentence=sentence))
            if need.slug not in seen:
                seen.add(need.slug)
                queue.append((need.slug, depth + 1))
    return chain


def _finished_work_clause(rows: Rows, project: str, row: WholeTask | Need) -> str:
    """What finished work waits for: a review or its merge. Empty when somebody works on the task."""
    slug = row.slug
    state = tasks.state(rows, project, slug)
    if row.status != "in_progress" or not fence.is_waiting(state):
        return ""
    if state.stage == "review":
        return f"waits for a review: `fleet review {slug} -p {project}`"
    return f"is finished and waits to be merged: `fleet merge {slug} -p {project}`"


def _state_clause(row: WholeTask | Need, now: int) -> str:
    """What a task does, to be read behind its name."""
    because = f": {' '.join(row.reason.split())}" if row.reason else ""
    match row.status:
        case "in_progress":
            return f"is being worked on by {row.assignee}"
        case "failed":
            return f"failed{because}"
        case "blocked" | "done" | "abandoned":
            return f"is {row.status}{because}"
        case "open":
            return "is paused" if row.paused else _open_clause(row, now)
        case _:
            return assert_never(row.status)


def _open_clause(row: WholeTask | Need, now: int) -> str:
    if row.open_blockers:
        n = row.open_blockers
        return f"waits for {n} other task{'' if n == 1 else 's'}"
    if row.not_before is not None and row.not_before > now:
        return f"waits until {iso(row.not_before)}"
    return "is ready"
