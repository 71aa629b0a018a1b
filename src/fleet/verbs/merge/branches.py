"""The branches of a project: the target that work lands on, and the integration branch that agents start from.

The integration branch is fast-forwarded to its target while all its own work has landed, no merge is running and it is
not checked out. So agents start from the newest commit that people put on the target.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.branches import head_ref, is_of_fleet, task_branch
from fleet.model.dispatch.may_start import why_no_commit
from fleet.model.results.projects import TargetChoice
from fleet.verbs.merge.recorded import refuse_missing
from fleet.world.git.branch_in_use import local_branches, why_branch_in_use

if TYPE_CHECKING:
    from fleet.verbs.context import Context


def integration_branch(context: Context, project: str, repository: str) -> tuple[str, str]:
    """Return the name and the commit of the integration branch; create it from the target if it does not exist.

    Raises MergesMissing when the branch was deleted together with recorded merges that are on no other branch,
    GitRefused when it cannot be created, and the error that says why when the target has no commit to start from.
    """
    name = context.settings(project).integration
    commit = context.world.git.resolve(repository, head_ref(name))
    if commit is not None:
        return name, commit
    refuse_missing(context, project)
    target, start = _first_commit(context, project, repository)
    gate = context.world.git_gate(repository)
    gate.take(wait=60)
    try:
        if context.world.git.resolve(repository, head_ref(name)) is None:
            context.world.git.note_followed(repository, target)
            context.world.git.set_branch(repository, name, new=start, old="")
        created = context.world.git.resolve(repository, head_ref(name))
    finally:
        gate.give()
    if created is None:
        why = context.world.git.why_not_made(repository, name) or "it is not there"
        raise errors.GitRefused(what=f"make the branch {name}", why=why)
    return name, created


def _first_commit(context: Context, project: str, repository: str) -> tuple[str, str]:
    """Return the target branch and its commit, from which the integration branch is made.

    Raises the error that says why when there is no such branch or commit.
    """
    git = context.world.git
    target = context.settings(project).target or _kept_target(context, repository) or git.head_branch(repository)
    commit = git.resolve(repository, head_ref(target)) if target else None
    why = why_no_commit(repository, target, commit)
    if why is not None or target is None or commit is None:
        raise why or errors.GitRefused(what=f"find the branch {target}", why="it is not there")
    return target, commit


def check_integration(context: Context, project: str, repository: str) -> None:
    """Raise the error that says why no agent could start from the integration branch. Changes nothing.

    Return when the branch exists, or when `integration_branch` could create it.
    """
    name = context.settings(project).integration
    if name in context.world.git.branches(repository, name):
        return
    _first_commit(context, project, repository)
    why = context.world.git.why_not_made(repository, name)
    if why:
        raise errors.BranchBlocked(branch=name, path=repository, why=why)


def refuse_checked_out(context: Context, repository: str, branch: str) -> None:
    """Raise BranchInUse when the branch is checked out in a worktree, or a rebase or bisect uses it there.

    Raise GitRefused when git does not list the worktrees.
    """
    if context.world.git.worktrees(repository) is None:
        raise errors.GitRefused(what=f"say whether {branch} is checked out", why="it does not list the worktrees")
    why = why_branch_in_use(context.world.git, repository, branch)
    if why:
        raise errors.BranchInUse(why=why)


def target_branch(context: Context, project: str, repository: str) -> str:
    """Return the branch that finished work lands on: the setting `target`, else the stored one, else the user's current one.

    Raises TargetGone when the stored branch no longer exists, because the user may be on any branch by now; DetachedHead
    when there is none of the three.
    """
    kept = context.settings(project).target or _kept_target(context, repository)
    name = kept or context.world.git.head_branch(repository)
    if not name:
        raise errors.DetachedHead(path=repository)
    return name


def target_choice(context: Context, project: str) -> TargetChoice:
    """Return the target branch that is set or stored, the user's current branch, and the branches that could be chosen.

    These are the repository's branches without those of fleet. A stored target that no longer exists counts as none.
    """
    repository, git = context.project(project).path, context.world.git
    followed = git.followed(repository)
    kept = context.settings(project).target or (followed if _branch_exists(context, repository, followed) else "")
    own = context.settings(project).integration
    branches = [name for name in local_branches(git, repository) if name != own and not is_of_fleet(name)]
    return TargetChoice(kept=kept or None, current=git.head_branch(repository), branches=branches)


def keep_target(context: Context, project: str, wanted: str | None) -> str | None:
    """Store, in a ref of the repository, the branch that finished work lands on, and return it.

    It is the branch `wanted`; with None, the stored one (TargetGone when it no longer exists), else the user's current
    one. Returns None, and stores nothing, when there is none of these. When the setting `target` names a branch,
    returns it and stores nothing. Raises BadInput for a branch that does not exist, is fleet's own, or differs from the
    setting.
    """
    repository, git = context.project(project).path, context.world.git
    told, current = context.settings(project).target, git.head_branch(repository)
    if told:
        if wanted not in {None, told}:
            raise errors.BadInput(what=f"{project}: fleet.toml sets target = {told!r}; change it there")
        return told
    name = wanted or _kept_target(context, repository) or current
    if name is None:
        return None
    if name != current and name not in git.branches(repository, name):
        raise errors.BadInput(what=f"{project}: there is no branch {name!r} to land on")
    if is_of_fleet(name) or name == context.settings(project).integration:
        raise errors.BadInput(what=f"{project}: {name!r} is a branch of fleet's own; choose one of yours")
    if git.followed(repository) != name:
        git.note_followed(repository, name)
    return name


def _kept_target(context: Context, repository: str) -> str:
    """Return the target branch that was stored; "" when none was. Raises TargetGone when that branch no longer exists."""
    kept = context.world.git.followed(repository)
    if kept and not _branch_exists(context, repository, kept):
        raise errors.TargetGone(branch=kept, path=repository)
    return kept


def _branch_exists(context: Context, repository: str, branch: str) -> bool:
    """Return whether a branch exists. The user's current branch does, even before its first commit."""
    git = context.world.git
    return bool(branch) and (branch in git.branches(repository, branch) or branch == git.head_branch(repository))


def start_of_task(
    context: Context, project: str, slug: str, repository: str, *, onto: str | None = None
) -> tuple[str, str, bool]:
    """Return the branch that a task starts from, the commit to start at, and whether the task has its own branch.

    The branch is `onto` or, without it, the integration branch; never the task's own. The commit is its tip, or the tip
    of the integration branch when there is no branch `onto`. A missing integration branch is made from its target.

    Without `onto`, first fast-forward the integration branch to its target as `follow` does, but not while a merge
    runs. Raise MergesMissing when recorded merges are missing, and what `integration_branch` raises.
    """
    name, mine = onto or context.settings(project).integration, task_branch(slug)
    target = "" if onto else _followed_branch(context, project, repository)
    commits = context.world.git.branches(repository, name, mine, *filter(None, [target]))
    if not onto:
        refuse_missing(
            context, project
        )  # without this check an agent would start from a branch that has lost merged work
    base = commits.get(name) or integration_branch(context, project, repository)[1]
    if target and commits.get(target, base) != base:
        base = _follow_unless_merging(context, project, repository)
    return name, base, mine in commits


def _follow_unless_merging(context: Context, project: str, repository: str) -> str:
    """Fast-forward the integration branch to its target, unless a merge is running. Returns the branch's commit."""
    gate = context.world.project_gate(project, "merge")
    try:
        gate.take()
    except errors.GateHeld:
        return integration_branch(context, project, repository)[1]
    try:
        return follow(context, project, repository)
    finally:
        gate.give()


def follow(context: Context, project: str, repository: str) -> str:
    """Fast-forward the integration branch to its target. Returns the branch's commit, old or new.

    The branch stays as it is when it has commits that its target lacks, when it is in use in a worktree, and when no
    target is set or stored. The caller holds the merge gate.
    """
    name, commit = integration_branch(context, project, repository)
    git, target = context.world.git, _followed_branch(context, project, repository)
    tip = git.branches(repository, target).get(target) if target else None
    if tip is None or tip == commit or git.is_in(repository, commit, tip) is not True:
        return commit
    free = not why_branch_in_use(git, repository, name)
    return tip if free and git.set_branch(repository, name, new=tip, old=commit) else commit


def _followed_branch(context: Context, project: str, repository: str) -> str:
    """Return the target that the integration branch follows; "" when none is set or stored."""
    return context.settings(project).target or context.world.git.followed(repository)
