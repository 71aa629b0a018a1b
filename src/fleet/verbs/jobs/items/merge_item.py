"""Merge an item's branch into the job's branch, one item at a time, and remove the worktrees of ended items.

What is merged is read from git, not from the store. When a runner is killed, the next one asks git and continues.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.branches import head_ref, job_branch, task_branch
from fleet.model.jobs import items
from fleet.store import queries as q
from fleet.store import tasks
from fleet.verbs.dispatch.apply_remedy import decide_and_apply
from fleet.verbs.dispatch.reclaim import reclaim, release_bundle
from fleet.verbs.jobs import records
from fleet.verbs.merge.branches import integration_branch
from fleet.verbs.merge.finisher import finish, order_for
from fleet.verbs.merge.keep_uncommitted import commit_kept_work
from fleet.verbs.merge.merge import describe_work_outside_branch
from fleet.world.git.branch_in_use import why_branch_in_use

if TYPE_CHECKING:
    from fleet.store.queries import Job
    from fleet.verbs.context import Context


def ensure_branch(context: Context, job: Job) -> None:
    """Create the job's branch from the project's integration branch, if it is missing.

    Raises GitRefused when it cannot be created, or GateHeld after a minute.
    """
    repository, name = context.project(job.project).path, job_branch(job.id)
    git = context.world.git
    if git.resolve(repository, head_ref(name)) is not None:
        return
    _integration, start = integration_branch(context, job.project, repository)
    gate = context.world.git_gate(repository)
    gate.take(wait=60)
    try:
        git.set_branch(repository, name, new=start, old="")
    finally:
        gate.give()
    if git.resolve(repository, head_ref(name)) is None:
        raise errors.GitRefused(
            what=f"make the branch {name}", why=git.why_not_made(repository, name) or "it is not there"
        )


def merge(context: Context, job: Job, item: str, *, shared: bool = False) -> str | None:
    """Merge the branch of an item into the job's branch. First settle an earlier merge of the item whose runner died.

    Returns the new tip of the job's branch; the present tip when the job's branch contains the item's work already;
    None when the item has no work. Raises NotMergeable on a conflict, when the item's branch moved after its steps, and
    when the item's commits are on another branch. Raises Refused when the job's branch moved during the merge or an
    earlier merge of the item still runs, and GitRefused when the job's branch is missing or in use.

    With `shared`, all items share the worktree of setup, and `item` is "setup": merges what the items' steps committed
    there, also when the branch moved after setup.
    """
    slug, name = items.slug(job.id, item), job_branch(job.id)
    repository, git = context.project(job.project).path, context.world.git
    _settle_finisher(context, job, slug)
    tips = git.branches(repository, task_branch(slug), name)
    tip, base = tips.get(task_branch(slug)), tips.get(name)
    if not shared:
        _refuse_moved(context, job, slug, tip)
    if base is None:
        raise errors.GitRefused(what=f"find the branch {name}", why="somebody has deleted it")
    if tip is None or tip == base or git.contains(repository, name, tip):
        _refuse_work_elsewhere(context, job, slug)
        return base if tip is not None and _has_work(context, job, slug, tip, base) else None
    why_in_use = why_branch_in_use(git, repository, name)
    if why_in_use:
        raise errors.GitRefused(what=f"move the branch {name}", why=why_in_use)
    if git.commits(repository, tip, base) == []:  # a fast-forward
        if not git.set_branch(repository, name, new=tip, old=base):
            raise errors.Refused(what=f"the branch {name} moved meanwhile; try again")
        return tip
    order = order_for(context, job.project, slug, integration=name, base=base, work=tip)
    advice = f"merge {order.branch} into {name} yourself, or try the item again"
    return finish(
        context,
        order,
        move=lambda made: git.set_branch(repository, name, new=made, old=base),
        verify=False,
        advice=advice,
    )


def _refuse_work_elsewhere(context: Context, job: Job, slug: str) -> None:
    """Raise NotMergeable when an item's branch has nothing new while its worktree has commits on another branch."""
    why = describe_work_outside_branch(context, job.project, slug, job_branch(job.id))
    if why:
        advice = f"bring its work onto {task_branch(slug)}, or try the item again"
        raise errors.NotMergeable(project=job.project, slug=slug, why=why, advice=advice, stage="finisher")


def _refuse_moved(context: Context, job: Job, slug: str, tip: str | None) -> None:
    """Raise NotMergeable when an item's branch moved after its steps ended: the new commits are not the item's.

    `tip` is the branch's commit, None without a branch.
    """
    state = context.store.read(lambda rows: tasks.state(rows, job.project, slug))
    if tip is None or state.work in {None, tip}:
        return
    why = f"{task_branch(slug)} moved since the item's steps ended: it was at {state.work[:12]}, and is at {tip[:12]}"
    advice = "try the item again: `fleet job dlq` lists it"
    raise errors.NotMergeable(project=job.project, slug=slug, why=why, advice=advice, stage="finisher")


def _has_work(context: Context, job: Job, slug: str, tip: str, base: str) -> bool:
    """Return whether the item's branch, now at `tip`, has moved from the commit that its last dispatch began at.

    When that dispatch is archived already: whether the branch is at another commit than the job's branch, now at `base`.
    """
    last = context.store.read(lambda rows: q.last_of_task(rows, project=job.project, slug=slug))
    return tip != (base if last is None else last.base)


def _settle_finisher(context: Context, job: Job, slug: str) -> None:
    """Settle an earlier merge of an item's task whose runner has died. Raises Refused while that merge still runs."""
    row = context.store.read(lambda rows: q.unfinished_of_task(rows, project=job.project, slug=slug))
    if row is not None and not decide_and_apply(context, row, "job").ended:
        raise errors.Refused(what=f"{row.id} is still merging {slug}; try again")


def release_item(
    context: Context, job: Job, item: str, *, status: str = "done", reason: str | None = None
) -> list[str]:
    """Archive an ended item's task, keep uncommitted work in a ref, and remove the worktree.

    `status` and `reason` are those with which the item's task ends. Returns what could not be removed, and why; [] also
    for an item that was never dispatched. While an attempt still works on the item, does nothing, and returns that.
    """
    slug = items.slug(job.id, item)
    place = {"project": job.project, "slug": slug}
    attempt = context.store.read(lambda rows: q.unfinished_of_task(rows, **place))
    if attempt is not None and not decide_and_apply(context, attempt, "job").ended:
        return [f"{attempt.id} still works on {slug}"]
    if not context.commit(records.close_task(job, slug, status, reason)):
        return []  # the item was never dispatched
    left = release_bundle(context, job.project, slug)
    if left:
        left = _keep_uncommitted(context, job.project, slug, left)
    for row in context.store.read(lambda rows: q.dispatches_of_task(rows, **place)):
        reclaim(context, row.id)
    return left


def _keep_uncommitted(context: Context, project: str, slug: str, left: list[str]) -> list[str]:
    """Commit an item's uncommitted work to a ref and remove its worktree. Returns what could not be removed, and why.

    `left` says what could not be removed before. It is returned when there is nothing to commit, when a lock is held,
    and, with git's reason, when git refuses.
    """
    try:
        return commit_kept_work(context, project, slug).left
    except (errors.Absent, errors.GateHeld):
        return left
    except errors.GitRefused as error:
        return [*left, str(error)]
