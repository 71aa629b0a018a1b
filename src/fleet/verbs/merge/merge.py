"""Merge a task's work into the integration branch, one task at a time in each project.

The branch is moved by compare-and-set. A task counts as merged only when git says so. When the process is killed, the next merge
or sweep asks git how far the merge came, and continues.
"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from fleet import errors
from fleet.model.branches import head_ref, task_branch, task_ref
from fleet.model.results.merge import Merged
from fleet.model.text.times import HOUR
from fleet.store import queries as q
from fleet.store import tasks
from fleet.store.transaction import Change
from fleet.verbs.dispatch.reclaim import reclaim, release_bundle
from fleet.verbs.homes.ownership import refuse_foreign_bundle
from fleet.verbs.merge.branches import follow, integration_branch, refuse_checked_out
from fleet.verbs.merge.finisher import finish, order_for
from fleet.verbs.merge.named_commit import refuse_moved
from fleet.verbs.merge.recorded import refuse_missing
from fleet.verbs.sweep import trash
from fleet.world.home import paths
from fleet.world.home.uncommitted import describe_forgotten, uncommitted_work

if TYPE_CHECKING:
    from fleet.resources.kind import Order
    from fleet.store.queries import Dispatch, TaskState
    from fleet.store.transaction import Tx
    from fleet.verbs.context import Context


class Elsewhere(NamedTuple):
    """Why the work of a task is not on its branch, and the stage that can continue the task."""

    why: str
    stage: str = "finisher"


def merge(context: Context, project: str, slug: str) -> Merged:
    """Merge the reported and accepted commit of a task. On a conflict or a failed verify, park the task and raise."""
    with context.world.project_gate(project, "merge"):
        repository, git = context.project(project).path, context.world.git
        refuse_foreign_bundle(context, project, slug)
        refuse_missing(context, project)
        base, integration = follow(context, project, repository), context.setting("integration", project)
        state = context.store.read(lambda rows: tasks.state(rows, project, slug))
        tip = git.resolve(repository, task_ref(slug))
        _refuse_unfinished(project, slug, state)
        if state.merged and state.archived:
            return Merged(project=project, task=slug, commit=state.merged, changed=False, left=[], aside=[])
        refuse_checked_out(context, repository, integration)
        park_if_moved(context, project, slug, state, tip)
        if tip is None:
            _refuse_without_branch(context, project, slug, state)
        if not git.contains(repository, integration, tip):
            order = order_for(context, project, slug, integration=integration, base=base, work=tip)
            return _run_merge(context, order, state)
        elsewhere = _describe_work_elsewhere(context, project, slug, state)
        if elsewhere is not None:
            _park_and_refuse(context, project, slug, state, elsewhere)
        return _record_existing_merge(context, project, slug, work=tip, base=base, tip=base).replaced(changed=False)


def _refuse_unfinished(project: str, slug: str, state: TaskState) -> None:
    """Raise IllegalStep unless the task's work is finished and may be merged."""
    if is_finished(state):
        return
    waits = state.status == "in_progress" and state.stage == "review"
    advice = f"it waits for review: `fleet review {slug} -p {project}`" if waits else "only work that is done is merged"
    raise errors.IllegalStep(event="merge", project=project, slug=slug, status=state.status, advice=advice)


def is_finished(state: TaskState) -> bool:
    """Whether a task is at the stage `finisher`, or a person has marked the task as done."""
    return state.status == "done" or (state.status in {"in_progress", "open"} and state.stage == "finisher")


def park_if_moved(context: Context, project: str, slug: str, state: TaskState, tip: str | None) -> None:
    """Send a task back to review and raise WorkMoved when its branch has left the reported or accepted commit."""
    try:
        refuse_moved(context, project, slug, state, tip)
    except errors.WorkMoved as error:
        _park_task(context, project, slug, state, str(error), stage="review")
        raise


def _refuse_without_branch(context: Context, project: str, slug: str, state: TaskState) -> NoReturn:
    """Refuse to merge a task that has no branch. Park the task too, unless it is archived, or done without any work."""
    missing = f"there is no branch {task_branch(slug)}"
    deleted = _describe_deleted_branch(slug, state)
    elsewhere = Elsewhere(deleted) if deleted else _describe_work_elsewhere(context, project, slug, state)
    if state.archived or (state.status == "done" and not elsewhere):
        advice = f"it was done without an agent, or its branch is gone: `fleet task show {slug} -p {project}`"
        raise errors.NotMergeable(project=project, slug=slug, why=missing, advice=advice, stage="finisher")
    _park_and_refuse(context, project, slug, state, Elsewhere(elsewhere.why if elsewhere else missing))


def _park_and_refuse(context: Context, project: str, slug: str, state: TaskState, elsewhere: Elsewhere) -> NoReturn:
    """Park the task at the stage that can continue it, and raise NotMergeable with the reason."""
    _park_task(context, project, slug, state, elsewhere.why, stage=elsewhere.stage)
    advice = f"bring its work onto {task_branch(slug)}, then `fleet task retry {slug} -p {project}`"
    raise errors.NotMergeable(project=project, slug=slug, why=elsewhere.why, advice=advice, stage=elsewhere.stage)


def _park_task(context: Context, project: str, slug: str, was: TaskState, why: str, *, stage: str) -> None:
    """Block a task with a reason, at the stage that can continue it, unless somebody has changed the task meanwhile."""

    def work(tx: Tx) -> None:
        tx.about(project, slug)
        if is_unchanged(tasks.state(tx, project, slug), was):
            tasks.park(tx, project, slug, was.status, stage=stage, reason=why, message=f"not merged: {why}")
        tx.note(reason=why)

    context.commit(Change(f"{project}/{slug} cannot be merged", work))


def is_unchanged(now: TaskState, was: TaskState) -> bool:
    """Whether a task still has the status, stage, assignee and commit that it had before."""
    return all(getattr(now, name) == getattr(was, name) for name in ("status", "stage", "assignee", "work"))


def _describe_deleted_branch(slug: str, state: TaskState) -> str:
    """Say at which commit the work of a task with a deleted branch is; empty when no commit is recorded."""
    if state.work is None or state.archived:
        return ""
    branch, work = task_branch(slug), state.work[:12]
    return f"{branch} is gone; its work is at {work}: `git branch {branch} {work}` puts it back"


def _describe_work_elsewhere(context: Context, project: str, slug: str, state: TaskState) -> Elsewhere | None:
    """Return which work of a task is not on its branch, committed or not; None when all work is on the branch.

    An agent can commit what was forgotten. A commit on another branch is for a person to look at. What an agent left
    uncommitted on purpose is not part of the work.
    """
    outside = work_outside_branch(context, project, slug, context.setting("integration", project))
    if outside:
        return Elsewhere(outside)
    if state.left_uncommitted is not None:
        return None
    return _describe_uncommitted_work(context, project, slug)


def work_outside_branch(context: Context, project: str, slug: str, integration: str) -> str:
    """Say where the agent committed when its worktree is not on the task's branch; empty when no such commit exists."""
    repository, git = context.project(project).path, context.world.git
    path = os.path.realpath(f"{context.world.home}/{paths.worktree(project, slug)}")
    trees = git.worktrees(repository)
    if trees is None:
        raise errors.GitRefused(what=f"read the worktree of {slug}", why="it does not list the worktrees")
    for tree in trees:
        if os.path.realpath(tree.path) != path or tree.branch == task_branch(slug):
            continue
        commits = git.commits(repository, head_ref(integration), tree.head)
        if commits is None:
            return "git does not say which commits its worktree has"
        if commits:
            where = f"the branch {tree.branch}" if tree.branch else "no branch"
            return f"its worktree is on {where}, with work that {task_branch(slug)} does not have"
    return ""


def _describe_uncommitted_work(context: Context, project: str, slug: str) -> Elsewhere | None:
    """Name the uncommitted files in the worktree of a task; None when the worktree is clean or missing."""
    path = f"{context.world.home}/{paths.worktree(project, slug)}"
    if not os.path.isdir(path):
        return None
    files = uncommitted_work(context.world.home, context.project(project), slug, context.world.funnel)
    if files is None:
        return Elsewhere(f"git does not say whether {path} has uncommitted work")
    return Elsewhere(describe_forgotten(slug, files), stage="fix") if files else None


def _run_merge(context: Context, order: Order, was: TaskState) -> Merged:
    """Run a finisher for the order, move the integration branch, and record the merge."""
    project, slug, base = order.project, order.slug or "", order.base or ""

    def move(merge_commit: str) -> bool:
        _refuse_changed_task(context, project, slug, was)
        return context.world.proofs.move_and_keep(order.repository, order.integration, new=merge_commit, old=base)

    most = context.setting("limits.failed_spawns")
    merge_commit = finish(context, order, move=move, park=partial(_park_failed_merge, order, was, most))
    facts = {"integration": order.integration, "made": merge_commit, "work": order.work, "base": base}
    return record_merge(context, project, slug, commit=merge_commit, facts=facts)


def _refuse_changed_task(context: Context, project: str, slug: str, was: TaskState) -> None:
    """Refuse the merge when somebody has changed the task while the merge was running."""
    now = context.store.read(lambda rows: tasks.state(rows, project, slug))
    if not is_unchanged(now, was):
        raise errors.Refused(what=f"{project}/{slug} was changed meanwhile, it is {now.status} now; nothing was merged")


def _park_failed_merge(order: Order, was: TaskState, most: int, tx: Tx, error: Exception) -> str | None:
    """Park the task after a failed merge.

    Return the stage at which the task is parked, None when it is not parked. A conflict or a failed verify parks the
    task at the stage that can repair it. Any other error parks the task for a person, but only after `most` failures in
    an hour. A task that somebody has changed meanwhile is left as it is.
    """
    project, slug, why = order.project, order.slug or "", str(error)
    if not is_unchanged(tasks.state(tx, project, slug), was):
        return None
    if isinstance(error, errors.NotMergeable):
        stage = str(error.facts["stage"])
    else:
        q.add_spawn_failure(tx, project=project, slug=slug, dispatch=order.dispatch, at=tx.at, why=why)
        failures = q.count_spawn_failures(tx, project=project, slug=slug, since=tx.at - HOUR).n
        stage = "finisher" if failures >= most else ""
    if stage:
        tasks.park(tx, project, slug, was.status, stage=stage, reason=why, message=f"not merged: {why}")
    return stage or None


def finish_dead_merge(context: Context, row: Dispatch) -> None:
    """Record the merge of a finisher that died after it moved the integration branch. Do nothing for other dispatches."""
    if row.kind != "finisher" or row.slug is None:
        return
    project, slug = row.project, row.slug
    repository, integration = context.project(project).path, context.setting("integration", project)
    state = context.store.read(lambda rows: tasks.state(rows, project, slug))
    work = state.work or context.world.git.resolve(repository, task_ref(slug))
    if work is None or not is_finished(state) or not context.world.git.contains(repository, integration, work):
        return
    if not work_outside_branch(context, project, slug, integration):
        _name, tip = integration_branch(context, project, repository)
        _record_existing_merge(context, project, slug, work=work, base=row.base or "", tip=tip)


def _record_existing_merge(context: Context, project: str, slug: str, *, work: str, base: str, tip: str) -> Merged:
    """Record a merge that is already on the integration branch, made by a person or by a finisher that died."""
    integration = context.setting("integration", project)
    context.world.proofs.keep(context.project(project).path, integration, tip)
    facts = {"integration": integration, "made": work, "work": work, "base": base}
    return record_merge(context, project, slug, commit=tip, facts=facts)


def record_merge(
    context: Context, project: str, slug: str, *, commit: str, facts: dict[str, str] | None = None
) -> Merged:
    """Record that the work of a task is merged as `commit`; archive the task and release its worktree.

    `facts` is the row of `merges` for a merge into the integration branch, which has to stay there. None is for work
    that was merged by a pull request.
    """

    def work(tx: Tx) -> None:
        tx.about(project, slug)
        moved, freed = tasks.merge(tx, project, slug, commit)
        if moved and facts is not None:
            q.add_merge(tx, seq=tx.seq, project=project, slug=slug, at=tx.at, **facts)
        archived = q.archive_task(tx, project=project, slug=slug, at=tx.at) == 1
        tx.note(merged=commit, archived=archived, ready=freed)

    context.commit(Change(f"{project}/{slug} is merged as {commit[:12]}", work))
    left = release_bundle(context, project, slug)
    last = context.store.read(lambda rows: q.last_of_task(rows, project=project, slug=slug))
    if last is not None:
        left = reclaim(context, last.id) or left
    aside = trash.describe_trash(context, project, slug)
    return Merged(project=project, task=slug, commit=commit, changed=True, left=left, aside=aside)
