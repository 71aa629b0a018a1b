"""Merge the work of tasks into the integration branch: decide for each whether it can be merged, then merge them.

One merge runs in a project at a time; another one waits for its turn. The branch is moved by compare-and-set. A task
counts as merged only when git says so. When the process is killed, the next merge or sweep asks git how far the merge
came, and continues.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from fleet import errors
from fleet.model.branches import head_ref, task_branch, task_ref
from fleet.model.results.merge import Merged
from fleet.store import queries as q
from fleet.store import tasks
from fleet.store.transaction import Change
from fleet.verbs.dispatch.apply_remedy import decide_and_apply
from fleet.verbs.homes.ownership import is_own, refuse_foreign_bundle
from fleet.verbs.merge.batch import BatchEntry, Results, merge_entries
from fleet.verbs.merge.branches import follow, integration_branch, refuse_checked_out
from fleet.verbs.merge.finisher import is_unchanged, order_for, reason_of_merge, record_merge
from fleet.verbs.merge.named_commit import refuse_moved
from fleet.verbs.merge.recorded import refuse_missing
from fleet.verbs.merge.tree.turn import merge_turn
from fleet.world.home import paths
from fleet.world.home.uncommitted import describe_forgotten, uncommitted_work

if TYPE_CHECKING:
    from fleet.store.queries import Dispatch, TaskState
    from fleet.store.transaction import Tx
    from fleet.verbs.context import Context


class Elsewhere(NamedTuple):
    """Why the work of a task is not all on its branch (`why`), and the stage at which the task can continue."""

    why: str
    stage: str = "finisher"


def merge(context: Context, project: str, slug: str) -> Merged:
    """Merge the reported and accepted commit of a task. Raises the error that prevents the merge.

    A task with a conflict (NotMergeable) or a failed verify (NotVerified) is parked first.
    """
    results = merge_together(context, project, [slug])
    for error in results.refused.values():
        raise error
    return results.merged[slug]


def merge_together(context: Context, project: str, slugs: list[str]) -> Results:
    """Merge several tasks of a project, one on top of another with one verify, as far as that works.

    Waits while another merge of the project runs. Returns for each task its merge, or the error that prevented it; a
    task with a conflict or a failed verify is parked.
    """
    results = Results()
    with merge_turn(context, project, slugs):
        finish_dead_merges(context, project)
        entries: list[BatchEntry] = []
        for slug in dict.fromkeys(slugs):
            try:
                found = _task_to_merge(context, project, slug)
            except errors.FleetError as error:
                results.refused[slug] = error
                continue
            if isinstance(found, BatchEntry):
                entries.append(found)
            else:
                results.merged[slug] = found
        merge_entries(context, entries, results)
    return results


def _task_to_merge(context: Context, project: str, slug: str) -> BatchEntry | Merged:
    """Return the `BatchEntry` of a task that can be merged; its `Merged` when the integration branch has its work.

    Such a merge is recorded, if it is not yet. Raises the error that prevents the merge, and may park the task.
    """
    repository, git = context.project(project).path, context.world.git
    refuse_foreign_bundle(context, project, slug)
    refuse_missing(context, project)
    base, integration = follow(context, project, repository), context.settings(project).integration
    state = context.store.read(lambda rows: tasks.state(rows, project, slug))
    tip = git.resolve(repository, task_ref(slug))
    _refuse_unfinished(project, slug, state)
    if state.merged and state.archived:
        # True when this request made the merge, and the client repeats it because the daemon died before it answered.
        changed = context.by.has_committed(reason_of_merge(project, slug, state.merged))
        return Merged(project=project, task=slug, commit=state.merged, changed=changed, left=[], aside=[])
    refuse_checked_out(context, repository, integration)
    park_if_moved(context, project, slug, state, tip)
    if tip is None:
        _refuse_without_branch(context, project, slug, state)
    if not git.contains(repository, integration, tip):
        return BatchEntry(
            order=order_for(context, project, slug, integration=integration, base=base, work=tip), was=state
        )
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
    """Return whether a task is done, or is open or in progress at the stage `finisher`.

    A done task is merged, or a person has marked it as done. False for a task that is blocked or failed at that stage.
    """
    return state.status == "done" or (state.status in {"in_progress", "open"} and state.stage == "finisher")


def park_if_moved(context: Context, project: str, slug: str, state: TaskState, tip: str | None) -> None:
    """Send a task back to review and raise WorkMoved when its branch is not at the reported or accepted commit.

    `tip` is the branch's commit, None without a branch.
    """
    try:
        refuse_moved(context, project, slug, state, tip)
    except errors.WorkMoved as error:
        _park_task(context, project, slug, state, str(error), stage="review")
        raise


def _refuse_without_branch(context: Context, project: str, slug: str, state: TaskState) -> NoReturn:
    """Raise NotMergeable for a task without a branch, and park it.

    The task is not parked when it is archived, or when it is done and no work of it is known.
    """
    missing = f"there is no branch {task_branch(slug)}"
    deleted = _describe_deleted_branch(slug, state)
    elsewhere = Elsewhere(deleted) if deleted else _describe_work_elsewhere(context, project, slug, state)
    if state.archived or (state.status == "done" and not elsewhere):
        advice = f"it was done without an agent, or its branch is gone: `fleet task show {slug} -p {project}`"
        raise errors.NotMergeable(project=project, slug=slug, why=missing, advice=advice, stage="finisher")
    _park_and_refuse(context, project, slug, state, Elsewhere(elsewhere.why if elsewhere else missing))


def _park_and_refuse(context: Context, project: str, slug: str, state: TaskState, elsewhere: Elsewhere) -> NoReturn:
    """Park the task at `elsewhere.stage`, and raise NotMergeable; the reason of both is `elsewhere.why`.

    A task that somebody has changed since it was read as `state` is not parked, only refused.
    """
    _park_task(context, project, slug, state, elsewhere.why, stage=elsewhere.stage)
    advice = f"bring its work onto {task_branch(slug)}, then `fleet task retry {slug} -p {project}`"
    raise errors.NotMergeable(project=project, slug=slug, why=elsewhere.why, advice=advice, stage=elsewhere.stage)


def _park_task(context: Context, project: str, slug: str, was: TaskState, why: str, *, stage: str) -> None:
    """Block a task that cannot be merged, at the stage that can continue it.

    Do nothing when somebody has changed the task since it was read as `was`.
    """

    def work(tx: Tx) -> None:
        tx.about(project, slug)
        if is_unchanged(tasks.state(tx, project, slug), was):
            tasks.park(tx, project, slug, was.status, stage=stage, reason=why, message=f"not merged: {why}")
        tx.note(reason=why)

    context.commit(Change(f"{project}/{slug} cannot be merged", work))


def _describe_deleted_branch(slug: str, state: TaskState) -> str:
    """Return the sentence that names the commit of a task whose branch was deleted; "" when no commit is recorded."""
    if state.work is None or state.archived:
        return ""
    branch, work = task_branch(slug), state.work[:12]
    return f"{branch} is gone; its work is at {work}: `git branch {branch} {work}` puts it back"


def _describe_work_elsewhere(context: Context, project: str, slug: str, state: TaskState) -> Elsewhere | None:
    """Return which work of a task is not on its branch, committed or not; None when all work is on the branch.

    For uncommitted changes the stage is `fix`, so that an agent commits them; for commits elsewhere it is `finisher`,
    for a person. Files that an agent left uncommitted on purpose do not count.
    """
    outside = describe_work_outside_branch(context, project, slug, context.settings(project).integration)
    if outside:
        return Elsewhere(outside)
    if state.left_uncommitted is not None:
        return None
    return _describe_uncommitted_work(context, project, slug)


def describe_work_outside_branch(context: Context, project: str, slug: str, integration: str) -> str:
    """Return a clause for people when the worktree of a task has work outside the task's branch; "" when it has none.

    That is when the worktree is not on the task's branch, and has commits that the branch `integration` lacks or git
    cannot list. Raise GitRefused when git does not list the worktrees.
    """
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
    """Return the uncommitted files in a task's worktree, or that git does not name them, as a reason against its merge.

    None when the worktree is clean or missing.
    """
    path = f"{context.world.home}/{paths.worktree(project, slug)}"
    if not os.path.isdir(path):
        return None
    files = uncommitted_work(context.world.home, context.project(project), slug, context.world.funnel)
    if files is None:
        return Elsewhere(f"git does not say whether {path} has uncommitted work")
    return Elsewhere(describe_forgotten(slug, files), stage="fix") if files else None


def finish_dead_merges(context: Context, project: str) -> None:
    """Settle the finishers of a project whose process died, and record what they had merged.

    The caller holds the project's merge gate. Finishers that live, or whose life is unknown, are left alone.
    """
    rows = context.store.read(lambda snapshot: q.listed_dispatches(snapshot, project=project, ended=0))
    for row in rows:
        if row.kind == "finisher" and is_own(context, row) and decide_and_apply(context, row, "merge").ended:
            finish_dead_merge(context, row)


def finish_dead_merge(context: Context, row: Dispatch) -> None:
    """Record the merge of a finisher that died after it moved the integration branch. Does nothing for any other dispatch."""
    if row.kind != "finisher" or row.slug is None:
        return
    project, slug = row.project, row.slug
    repository, integration = context.project(project).path, context.settings(project).integration
    state = context.store.read(lambda rows: tasks.state(rows, project, slug))
    work = state.work or context.world.git.resolve(repository, task_ref(slug))
    if work is None or not is_finished(state) or not context.world.git.contains(repository, integration, work):
        return
    if not describe_work_outside_branch(context, project, slug, integration):
        _name, tip = integration_branch(context, project, repository)
        made = row.reported_commit
        if made is None or not context.world.git.contains(repository, integration, made):
            made = work
        _record_existing_merge(context, project, slug, work=work, base=row.base or "", tip=tip, made=made)


def _record_existing_merge(
    context: Context, project: str, slug: str, *, work: str, base: str, tip: str, made: str | None = None
) -> Merged:
    """Record a merge that is already on the integration branch, made by a person or by a finisher that died.

    `work` is the task's commit, `base` the integration branch's commit before the merge, `tip` its commit that contains
    the work, `made` the merge commit (None: `work` itself).
    """
    integration = context.settings(project).integration
    context.world.proofs.protect_from_gc(context.project(project).path, integration, tip)
    facts = {"integration": integration, "made": made or work, "work": work, "base": base}
    return record_merge(context, project, slug, commit=tip, facts=facts)
