"""Limit handoffs without progress: count them for each task, and park the task when too many come in a row.

Progress is measured when the agent is proven dead, so that its last commit counts. If a drain is killed, the next drain
measures again and gets the same result.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.agents.activity.progress import describe_fruitless, fruitless_handoffs
from fleet.model.branches import task_branch
from fleet.model.dispatch.steps import HANDOFF_STEPS
from fleet.model.results.value import Value
from fleet.model.tables import change
from fleet.model.tasks.pipeline import WORKING
from fleet.model.tasks.steps import STEPS
from fleet.store import queries as q
from fleet.store import tasks
from fleet.store.transaction import Change
from fleet.verbs.agents.cost.spending import cost_before_handoffs

if TYPE_CHECKING:
    from fleet.store.queries import Dispatch, Handoff
    from fleet.store.transaction import Rows, Tx
    from fleet.verbs.context import Context


class HandoffProgress(Value):
    """The progress of a task at a handoff. `fingerprint` stands for its work, None when it is unknown.

    `fruitless` is how many handoffs in a row, this one included, made no progress. The entry keeps the fingerprint in
    its column `mark`.
    """

    fingerprint: str | None
    fruitless: int


def park_if_fruitless(context: Context, entry: Handoff, row: Dispatch) -> bool:
    """Record the progress of a task at a handoff. After too many handoffs in a row without progress, park the task.

    Parking also drops the handoff's entry. Returns whether the task was parked; always False for a reviewer.
    """
    if row.kind not in WORKING or entry.slug is None:
        return False
    progress = _measure_progress(context, entry, row, entry.slug)
    if progress.fruitless > context.settings().handoff_without_progress:
        return context.commit(_park_task(entry, row, entry.slug, progress))
    if (entry.mark, entry.fruitless) != (progress.fingerprint, progress.fruitless):
        context.commit(_record_progress(entry, progress))
    return False


def _measure_progress(context: Context, entry: Handoff, row: Dispatch, slug: str) -> HandoffProgress:
    """Return the fingerprint of the task's work at a handoff, and how many handoffs in a row made no progress.

    `row` is the agent that is handed off.
    """
    head = _branch_commit(context, row, slug)

    def look(rows: Rows) -> HandoffProgress:
        """Compare the fingerprint of the task's work with the one at the previous handoff, in one snapshot."""
        artifacts = q.task_artifacts(rows, project=row.project, slug=slug)
        before = q.handoff_before(rows, project=row.project, slug=slug, at=entry.at, id=entry.id)
        fingerprint = None if head is None else _fingerprint_of_work(rows, row.project, slug, head)
        has_work = bool(artifacts) or head != row.base
        return HandoffProgress(
            fingerprint=fingerprint, fruitless=fruitless_handoffs(fingerprint, before, has_work=has_work)
        )

    return context.store.read(look)


def _branch_commit(context: Context, row: Dispatch, slug: str) -> str | None:
    """Return the commit that the task's branch is at now; None when there is no such branch, or git cannot tell."""
    branch = task_branch(slug)
    try:
        return context.world.git.branches(context.project(row.project).path, branch).get(branch)
    except errors.GitRefused:
        return None


def _fingerprint_of_work(rows: Rows, project: str, slug: str, head: str) -> str:
    """Return a fingerprint of a task's work, to compare handoffs: commit, artifacts, texts and dependencies of the task."""
    key = {"project": project, "slug": slug}
    task = q.task_whole(rows, **key)
    parts = [
        head,
        [[each.path, each.at] for each in q.task_artifacts(rows, **key)],
        [task.title, task.description, task.verify] if task else [],
        [each.slug for each in q.task_needs(rows, **key)],
        [each.slug for each in q.task_dependents(rows, **key)],
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _record_progress(entry: Handoff, progress: HandoffProgress) -> Change[None]:
    """Return the change that stores the fingerprint and the count of handoffs without progress in the entry."""

    def work(tx: Tx) -> None:
        tx.about(entry.project, entry.slug)
        tx.dispatch = entry.dispatch
        q.weigh_handoff(tx, id=entry.id, mark=progress.fingerprint, fruitless=progress.fruitless)
        tx.note(handoff=entry.id, fruitless=progress.fruitless)

    return Change(
        f"the handoff of {entry.dispatch} has brought {'something' if not progress.fruitless else 'nothing'}", work
    )


def _park_task(entry: Handoff, row: Dispatch, slug: str, progress: HandoffProgress) -> Change[bool]:
    """Return the change that blocks the handed-off agent's task and drops the entry.

    Committing it returns False when the task is no longer assigned to that agent.
    """

    def work(tx: Tx) -> bool:
        tx.about(entry.project, slug)
        tx.dispatch = entry.dispatch
        stepped = change(STEPS, "in_progress", "block")
        agents = q.handed_off_agents(tx, project=entry.project, slug=slug, most=progress.fruitless)
        names, cost = [each.dispatch for each in reversed(agents)], cost_before_handoffs(tx, entry.project, slug)
        reason = describe_fruitless(progress.fruitless, names, entry.reason, cost.dollars)
        moved = q.settle_task(tx, project=entry.project, slug=slug, id=row.id, **stepped, stage=None, assignee=row.id,
                              reason=reason, work=None, not_before=None, ended_at=None, at=tx.at)  # fmt: skip
        if not moved:
            return False
        parked = change(HANDOFF_STEPS, "queued", "park")
        q.park_handoff(tx, id=entry.id, mark=progress.fingerprint, fruitless=progress.fruitless, **parked, at=tx.at)
        tasks.update_dependents(tx, entry.project, slug, **stepped)
        tx.note(handoff="dropped", fruitless=progress.fruitless, reason=reason)
        return True

    return Change(f"park {entry.project}/{slug}: {progress.fruitless} handoffs brought nothing", work)
