"""Explain why a task is not being worked on: one sentence for each blocker, down to the first cause."""

from __future__ import annotations

from fleet.model import names
from fleet.model.results.tasks import Blocker, Explanation
from fleet.model.states import assert_never
from fleet.model.tasks import fence
from fleet.model.tasks.steps import SATISFIED
from fleet.model.text.times import clock
from fleet.store import queries as q
from fleet.store import tasks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.store.queries import Need, WholeTask
    from fleet.store.transaction import Rows

# How many dependencies an explanation names.
MOST = 200


def explain_task(rows: Rows, project: str, slug: str, now: int) -> Explanation:
    """Return the state of a task and the tasks that it waits for, directly or through others, as sentences.

    `obstacles` of the result is empty: the caller fills it in. Raise NoSuchTask, or NoSuchProject when the project is
    missing too.
    """
    names.project(project)
    row = q.task_whole(rows, project=project, slug=names.slug(slug))
    if row is None:
        raise tasks.missing_error(rows, project, slug)
    chain = _blocker_chain(rows, project, slug, now)
    clause = state_in_words(rows, project, row, now)
    return Explanation(
        project=project,
        slug=slug,
        status=row.status,
        ready=clause == "is ready",
        obstacles=[],
        sentences=[f"{slug} {clause}", *_engine_sentences(rows, project, slug), *(each.sentence for each in chain)],
        chain=chain,
    )


def _engine_sentences(rows: Rows, project: str, slug: str) -> list[str]:
    """Return a sentence if the task's agent does not run on the engine of first choice, with the reason; else []."""
    attempt = q.unfinished_of_task(rows, project=project, slug=slug)
    if attempt is None or attempt.instead_of is None:
        return []
    why = " ".join((attempt.instead_why or "").split())
    return [f"its agent {attempt.id} runs on {attempt.engine} instead of {attempt.instead_of}: {why}"]


def _blocker_chain(rows: Rows, project: str, slug: str, now: int) -> list[Blocker]:
    """Return the dependencies that keep a task waiting, its own and those of the tasks that it waits for.

    The nearest come first, at most MOST are returned, and each task is looked at once.
    """
    chain: list[Blocker] = []
    queue, seen = [(slug, 0)], {slug}
    for waiting, depth in queue:
        for need in q.task_needs(rows, project=project, slug=waiting):
            if need.status in SATISFIED or len(chain) >= MOST:
                continue
            clause = state_in_words(rows, project, need, now)
            sentence = f"{waiting} waits for {need.slug}, which {clause}"
            chain.append(Blocker(slug=waiting, needs=need.slug, depth=depth, sentence=sentence))
            if need.slug not in seen:
                seen.add(need.slug)
                queue.append((need.slug, depth + 1))
    return chain


def state_in_words(rows: Rows, project: str, row: WholeTask | Need, now: int) -> str:
    """Return the state of a task as a clause that follows its name, such as "is paused". All views call this for it."""
    return _finished_work_clause(rows, project, row) or _state_clause(row, now)


def _finished_work_clause(rows: Rows, project: str, row: WholeTask | Need) -> str:
    """Return the clause for a task whose finished work waits for a review or a merge; "" for any other task."""
    slug = row.slug
    state = tasks.state(rows, project, slug)
    if row.status != "in_progress" or not fence.waits_for_review_or_merge(state):
        return ""
    if state.stage == "review":
        return f"waits for a review: `fleet review {slug} -p {project}`"
    return f"is finished and waits to be merged: `fleet merge {slug} -p {project}`"


def _state_clause(row: WholeTask | Need, now: int) -> str:
    """Return the state of a task, by its status, as a clause that follows its name."""
    because = f": {' '.join(row.reason.split())}" if row.reason else ""
    match row.status:
        case "in_progress":
            return f"is being worked on by {row.assignee}" if row.assignee else "is being worked on"
        case "failed":
            return f"failed{because}"
        case "blocked" | "done" | "abandoned":
            return f"is {row.status}{because}"
        case "open":
            return "is paused" if row.paused else _open_clause(row, now)
        case _:
            return assert_never(row.status)


def _open_clause(row: WholeTask | Need, now: int) -> str:
    """Return what an open task waits for, or that it is ready, as a clause."""
    if row.open_blockers:
        n = row.open_blockers
        return f"waits for {n} other task{'' if n == 1 else 's'}"
    if row.not_before is not None and row.not_before > now:
        return f"waits until {clock(row.not_before)}"
    return "is ready"
