"""Change tasks in the store: each change of a status also updates the blocker counts of the dependents."""

from __future__ import annotations

from fleet import errors
from fleet.model.tables import change, step, target
from fleet.model.tasks.steps import STEPS, blockers_change
from fleet.store import queries as q

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.states import TaskStatus
    from fleet.store.queries import TaskState
    from fleet.store.transaction import Rows, Tx

FREED_SHOWN = 50


def state(rows: Rows, project: str, slug: str) -> TaskState:
    """Return the columns of a task that decide which changes are allowed.

    Raise NoSuchTask or NoSuchProject when it is missing.
    """
    found = q.task_state(rows, project=project, slug=slug)
    if found is None:
        raise missing_error(rows, project, slug)
    return found


def missing_error(rows: Rows, project: str, slug: str) -> errors.NoSuchProject | errors.NoSuchTask:
    """Return the error for a missing task: NoSuchProject when its project is missing too, else NoSuchTask."""
    if q.project_by_name(rows, name=project) is None:
        return errors.NoSuchProject(project=project)
    return errors.NoSuchTask(project=project, slug=slug)


def claim(tx: Tx, project: str, slug: str, *, override: bool) -> bool:
    """Assign a ready task to the caller and put it in progress, by compare and set; return whether that worked.

    With `override`, an open task that is not ready can be assigned, too.
    """
    query = q.claim_task_all_the_same if override else q.claim_task
    return query(tx, project=project, slug=slug, after=target(STEPS, "claim"), actor=tx.caller.actor, at=tx.at) == 1


def end(
    tx: Tx, project: str, slug: str, was: TaskState, *, status: TaskStatus, reason: str | None, work: str | None = None
) -> list[str]:
    """End or block a task, which was in the state `was`; return the slugs of tasks that became ready.

    `work` is the commit with its work; None leaves the recorded commit as it is. Raise BeingMerged while a finisher
    publishes the merge of the task, NoSuchTask when the status or assignee of the task is no longer that of `was`.
    """
    _refuse_announced(tx, project, slug)
    keeps = was.assignee == tx.caller.actor or was.status != "in_progress"
    moved = q.end_task(
        tx,
        project=project,
        slug=slug,
        status=status,
        reason=reason,
        work=work,
        at=tx.at,
        assignee=was.assignee if keeps and was.assignee else tx.caller.actor,
        was=was.status,
        was_assignee=was.assignee,
    )
    if not moved:
        raise missing_error(tx, project, slug)
    return update_dependents(tx, project, slug, before=was.status, after=status)


def reopen(tx: Tx, project: str, slug: str, was: TaskState, *, anew: bool = False) -> None:
    """Make a task open and without an assignee, and update the tasks that depend on it.

    A blocked or failed task keeps its stage, unless `anew` is true; any other task begins at the first stage. The recorded
    merge and the count of fixes are cleared. The reported work is cleared, too, unless the task keeps its stage and a
    review has accepted the work.

    The caller has read the state `was` in the same transaction: it is not checked again. Raise BeingMerged while a
    finisher publishes the merge of the task, InvariantBroken when the task is open already.
    """
    _refuse_announced(tx, project, slug)
    after = step(STEPS, was.status, "unclaim" if was.status == "in_progress" else "retry")
    q.reopen_task(tx, project=project, slug=slug, was=was.status, after=after, anew=int(anew), at=tx.at)
    update_dependents(tx, project, slug, before=was.status, after=after)


def _refuse_announced(tx: Tx, project: str, slug: str) -> None:
    """Raise BeingMerged while a finisher publishes the merge of a task."""
    finisher = q.announced_merge(tx, project=project, slug=slug)
    if finisher is not None:
        raise errors.BeingMerged(project=project, slug=slug, finisher=finisher.id)


def park(tx: Tx, project: str, slug: str, was: TaskStatus, *, stage: str, reason: str | None, message: str) -> bool:
    """Block a task that cannot be merged, at the `stage` that can mend it, and write `message` into the task's log.

    `was` is the task's status before. Return False, and change nothing, when the task no longer has that status, or
    when that status is failed or abandoned.
    """
    if (was, "park") not in STEPS:
        return False
    stepped = change(STEPS, was, "park")
    if not q.park_task(tx, project=project, slug=slug, **stepped, stage=stage, reason=reason, at=tx.at):
        return False
    update_dependents(tx, project, slug, **stepped)
    add_log_message(tx, project, slug, message)
    return True


def merge(tx: Tx, project: str, slug: str, commit: str) -> tuple[bool, list[str]]:
    """Move a task to done, because the merge `commit` has its work.

    Return (True, the slugs of tasks that became ready), or (False, []) when a merge of the task is recorded already.
    """
    stepped = change(STEPS, state(tx, project, slug).status, "merge")
    if not q.merge_task(tx, project=project, slug=slug, commit=commit, **stepped, at=tx.at):
        return False, []
    return True, update_dependents(tx, project, slug, **stepped)


def update_dependents(tx: Tx, project: str, slug: str, *, before: TaskStatus, after: TaskStatus) -> list[str]:
    """Update the counts of open blockers of a task's dependents after the task's status changed.

    Return the slugs of tasks that became ready, at most 50 (FREED_SHOWN).
    """
    change = blockers_change(before, after)
    if change == 0 or not q.shift_blockers(tx, project=project, slug=slug, change=change) or change > 0:
        return []
    freed = q.freed_by(tx, project=project, slug=slug, most=FREED_SHOWN)
    return [row.slug for row in freed if not row.paused and (row.not_before or 0) <= tx.at]


def add_log_message(tx: Tx, project: str, slug: str, message: str) -> None:
    """Add an entry to a task's log."""
    q.add_log(tx, project=project, slug=slug, seq=tx.seq, at=tx.at, actor=tx.caller.actor, message=message)
