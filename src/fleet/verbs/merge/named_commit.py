"""The named commit of a task: the one commit that its report, its review and its merge all refer to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import errors
from fleet.model import names
from fleet.model.branches import head_ref, task_branch, task_ref
from fleet.model.results.merge import Work, WorkSince
from fleet.store import queries as q
from fleet.store import tasks
from fleet.verbs.merge.branches import integration_branch

if TYPE_CHECKING:
    from fleet.model.results.merge import Judgement
    from fleet.model.results.tasks import TaskDetails
    from fleet.store.queries import TaskState
    from fleet.verbs.context import Context


def refuse_moved(context: Context, project: str, slug: str, state: TaskState, tip: str | None) -> None:
    """Raise WorkMoved when a task's branch is not at the commit that was last reported or accepted.

    `tip` is the branch's commit. Nothing is raised when it is None (there is no branch), when no commit was reported, or
    when the task is archived.
    """
    work = state.work
    if tip is None or work is None or work == tip or state.archived:
        return
    accepted = context.store.read(lambda rows: q.accepted_work(rows, project=project, slug=slug, work=work))
    named = "reported" if accepted is None else "reviewed"
    raise errors.WorkMoved(
        project=project, slug=slug, branch=task_branch(slug), named=named, then=work[:12], now=tip[:12]
    )


def judged_commit(context: Context, project: str, slug: str, *, accept: bool, seen: str | None) -> str | None:
    """Return the commit that a verdict is about: that of the task's branch; None when the task has no branch.

    `seen` is the commit that the reviewer looked at. Raises BadInput when that is no commit, WorkMoved when the branch is
    at another one. Without `seen`, raises WorkMoved if the verdict accepts the work (`accept`) and the branch is not at the
    reported commit.
    """
    repository = context.project(project).path
    state = context.store.read(lambda rows: tasks.state(rows, project, slug))
    tip = context.world.git.resolve(repository, task_ref(slug))
    if seen is not None:
        full = context.world.git.resolve(repository, seen) if names.is_commit(seen) else None
        if full is None:
            raise errors.BadInput(what=f"--commit {seen!r} is no commit of {repository}")
        if full != tip:
            now = tip[:12] if tip else "nothing"
            raise errors.WorkMoved(
                project=project, slug=slug, branch=task_branch(slug), named="looked at", then=full[:12], now=now
            )
    elif accept:
        refuse_moved(context, project, slug, state, tip)
    return tip


def reviewed_work(context: Context, task: TaskDetails, verdicts: list[Judgement]) -> Work:
    """Return what a reviewer sees: the task, its commit, and the diff to the target branch.

    It also says whether the branch has moved since the report. The field `since` is what changed since an earlier
    commit: the reported one when the branch has moved since the report, else that of the last verdict that names one.
    It is None when there is no such commit, it is gone from the repository, or the branch is still at it. `verify` is
    always None.
    """
    repository = context.project(task.project).path
    integration, onto = integration_branch(context, task.project, repository)
    tip = context.world.git.resolve(repository, task_ref(task.slug))
    state = context.store.read(lambda rows: tasks.state(rows, task.project, task.slug))
    moved = tip is not None and state.work not in {None, tip}
    before = state.work if moved else next((each.work for each in reversed(verdicts) if each.work), None)
    proofs, ref = context.world.proofs, head_ref(integration)
    return Work.made_of(
        task,
        verdicts=verdicts,
        commit=tip,
        reported=state.work,
        moved=moved,
        left_uncommitted=state.left_uncommitted,
        commits=context.world.git.titles(repository, ref, tip) if tip else [],
        stat=proofs.work_diff(repository, ref, tip, stat=True) if tip else "",
        diff=proofs.work_diff(repository, ref, tip) if tip else "",
        since=_work_since(context, repository, (onto, before, tip)) if before and tip and before != tip else None,
        verify=None,
    )


def _work_since(context: Context, repository: str, commits: tuple[str, str, str]) -> WorkSince | None:
    """Return the difference between an old and a new commit of a task, for review; None when the old one is gone.

    `commits` are the integration branch's commit, the old commit and the new commit.
    """
    onto, old, new = commits
    if context.world.git.resolve(repository, old) is None:
        return None
    proofs = context.world.proofs
    return WorkSince(
        commit=old,
        stat=proofs.difference(repository, onto, old, new, stat=True),
        diff=proofs.difference(repository, onto, old, new),
    )
