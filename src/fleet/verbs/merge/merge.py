"""Merge: bring a task's work into the integration branch, one task at a time.

The branch is moved by compare-and-set, and a task counts as merged only when git says so; killed anywhere, the next merge or sweep
reads git and goes on.
"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, NoReturn

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

if TYPE_CHECKING:
    from fleet.resources.kind import Order
    from fleet.store.queries import Dispatch, TaskState
    from fleet.store.transaction import Tx
    from fleet.verbs.context import Context

_FILES_SHOWN = 5


def merge(context: Context, project: str, slug: str) -> Merged:
    """Merge the commit that a task's report and review speak of. A conflict or a red verify parks the task with the reason."""
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
        elsewhere = _describe_work_elsewhere(context, project, slug)
        if elsewhere:
            _park_and_refuse(context, project, slug, state, elsewhere)
        return _record_existing_merge(context, project, slug, work=tip, base=base, tip=base).replaced(changed=False)


def _refuse_unfinished(project: str, slug: str, state: TaskState) -> None:
    if is_finished(state):
        return
    waits = state.status == "in_progress" and state.stage == "review"
    advice = f"it waits for review: `fleet review {slug} -p {project}`" if waits else "only work that is done is merged"
    raise errors.IllegalStep(event="merge", project=project, slug=slug, status=state.status, advice=advice)


def is_finished(state: TaskState) -> bool:
    """Whether a task is at its last stage, or a person called it done."""
    return state.status == "done" or (state.status in {"in_progress", "open"} and state.stage == "finisher")


def park_if_moved(context: Context, project: str, slug: str, state: TaskState, tip: str | None) -> None:
    """Send a task whose branch is not at its named commit back to review: nobody has looked at what is there now."""
    try:
        refuse_moved(context, project, slug, state, tip)
    except errors.WorkMoved as error:
        _park_task(context, project, slug, state, str(error), stage="review")
        raise


def _refuse_without_branch(context: Context, project: str, slug: str, state: TaskState) -> NoReturn:
    """Refuse a task whose branch is missing. It is parked, unless it is over and nothing says that it had work."""
    missing = f"there is no branch {task_branch(slug)}"
    elsewhere = _describe_deleted_branch(slug, state) or _describe_work_elsewhere(context, project, slug)
    if state.archived or (state.status == "done" and not elsewhere):
        advice = f"it was done without an agent, or its branch is gone: `fleet task show {slug} -p {project}`"
        raise errors.NotMergeable(project=project, slug=slug, why=missing, advice=advice, stage="finisher")
    _park_and_refuse(context, project, slug, state, elsewhere or missing)


def _park_and_refuse(context: Context, project: str, slug: str, state: TaskState, why: str) -> NoReturn:
    _park_task(context, project, slug, state, why, stage="finisher")
    advice = f"bring its work onto {task_branch(slug)}, then `fleet task retry {slug} -p {project}`"
    raise errors.NotMergeable(project=project, slug=slug, why=why, advice=advice, stage="finisher")


def _park_task(context: Context, project: str, slug: str, was: TaskState, why: str, *, stage: str) -> None:
    """Block a task with the reason, at the stage that can go on with it, so that the next one can be merged."""

    def work(tx: Tx) -> None:
        tx.about(project, slug)
        same = is_unchanged(tasks.state(tx, project, slug), was)
        if same:
            tasks.park(tx, project, slug, was.status, stage=stage, reason=why, message=f"not merged: {why}")
        tx.note(reason=why)

    context.commit(Change(f"{project}/{slug} cannot be merged", work))


def is_unchanged(now: TaskState, was: TaskState) -> bool:
    """Whether nobody has decided about a task meanwhile."""
    return all(getattr(now, name) == getattr(was, name) for name in ("status", "stage", "assignee", "work"))


def _describe_deleted_branch(slug: str, state: TaskState) -> str:
    """Say where the work of a task is whose branch somebody deleted; empty when no commit of it is known."""
    if state.work is None or state.archived:
        return ""
    branch, work = task_branch(slug), state.work[:12]
    return f"{branch} is gone; its work is at {work}: `git branch {branch} {work}` puts it back"


def _describe_work_elsewhere(context: Context, project: str, slug: str) -> str:
    """Say where a task has work that its branch does not have; empty when there is none."""
    integration = context.setting("integration", project)
    return work_outside_branch(context, project, slug, integration) or _describe_uncommitted_work(
        context, project, slug
    )


def work_outside_branch(context: Context, project: str, slug: str, integration: str) -> str:
    """Say where the task's agent has committed, when that is neither its branch nor the integration branch; else empty."""
    repository, git = context.project(project).path, context.world.git
    path = os.path.realpath(f"{context.world.home}/{paths.worktree(project, slug)}")
    trees = git.worktrees(repository)
    if trees is None:
        raise errors.GitRefused(what=f"say what the worktree of {slug} has", why="it does not list the worktrees")
    for tree in trees:
        if os.path.realpath(tree.path) != path or tree.branch == task_branch(slug):
            continue
        commits = git.commits(repository, head_ref(integration), tree.head)
        if commits is None:
            return "git does not say what its worktree has"
        if commits:
            where = f"the branch {tree.branch}" if tree.branch else "no branch"
            return f"its worktree is on {where}, with work that {task_branch(slug)} does not have"
    return ""


def _describe_uncommitted_work(context: Context, project: str, slug: str) -> str:
    """Name the uncommitted files in the worktree of a task that has committed nothing; empty when there are none."""
    path = f"{context.world.home}/{paths.worktree(project, slug)}"
    if not os.path.isdir(path):
        return ""
    if context.world.git.is_dirty(path) is None:
        return f"git does not say whether {path} has uncommitted work"
    files = context.world.git.uncommitted(path)
    if not files:
        return ""
    more = f" and {len(files) - _FILES_SHOWN} more" if len(files) > _FILES_SHOWN else ""
    listed = ", ".join(line[3:] for line in files[:_FILES_SHOWN]) + more
    return f"nothing new is committed on {task_branch(slug)}, but its worktree has uncommitted work: {listed}"


def _run_merge(context: Context, order: Order, was: TaskState) -> Merged:
    project, slug, base = order.project, order.slug or "", order.base or ""

    def move(made: str) -> bool:
        _refuse_changed_task(context, project, slug, was)
        return context.world.proofs.move_and_keep(order.repository, order.integration, new=made, old=base)

    most = context.setting("limits.failed_spawns")
    made = finish(context, order, move=move, park=partial(_park_failed_merge, order, was, most))
    facts = {"integration": order.integration, "made": made, "work": order.work, "base": base}
    return record_merge(context, project, slug, commit=made, facts=facts)


def _refuse_changed_task(context: Context, project: str, slug: str, was: TaskState) -> None:
    """What somebody decided about the task while it was being merged counts."""
    now = context.store.read(lambda rows: tasks.state(rows, project, slug))
    if not is_unchanged(now, was):
        raise errors.Refused(what=f"{project}/{slug} was changed meanwhile, it is {now.status} now; nothing was merged")


def _park_failed_merge(order: Order, was: TaskState, most: int, tx: Tx, error: Exception) -> str | None:
    """Park the task for the stage that can mend it, or for a person when merging failed too often. Return that stage, if any.

    A task that is not as it was is not parked: somebody has decided about it meanwhile.
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
    """Record the merge of a finisher that died after it had moved the branch."""
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
    """Record work that git finds on the integration branch: merged by a person, or by a finisher that died before it said so."""
    integration = context.setting("integration", project)
    context.world.proofs.keep(context.project(project).path, integration, tip)
    facts = {"integration": integration, "made": work, "work": work, "base": base}
    return record_merge(context, project, slug, commit=tip, facts=facts)


def record_merge(
    context: Context, project: str, slug: str, *, commit: str, facts: dict[str, str] | None = None
) -> Merged:
    """Record that git has a task's work, as `commit`; archive the task, let its worktree go.

    `facts` are what `merges` keeps of a merge into the integration branch, where it has to stay; None for work that was merged elsewhere.
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
    aside = trash.announced(context, project, slug)
    return Merged(project=project, task=slug, commit=commit, changed=True, left=left, aside=aside)
