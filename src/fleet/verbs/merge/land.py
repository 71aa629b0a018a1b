"""Land: fast-forward the target branch to the integration branch when a person asks for it."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.branches import head_ref
from fleet.model.results.merge import Landing
from fleet.model.results.views import ToLand
from fleet.verbs.merge.branches import integration_branch, target_branch
from fleet.verbs.merge.recorded import refuse_missing
from fleet.world.git.branch_in_use import holders
from fleet.world.git.checkout import top_of

if TYPE_CHECKING:
    from fleet.verbs.context import Context
    from fleet.world.git.branch_in_use import BranchHolder


def land(context: Context, project: str, *, dry: bool = False, here: str | None = None) -> Landing:
    """Fast-forward the target branch to the integration branch. With `dry`, only return what would land.

    A target that is checked out is moved only in the checkout at `here`, where the person is, and only when git
    overwrites no change there. Otherwise nothing is changed: `why` gives the reason, and `run` is the command that
    lands the work. Nothing is moved when there is nothing to land.

    Raises MergesMissing when recorded merges are missing. Raises Refused when git does not say what would land, and for
    a target that is checked out nowhere when it has commits of its own or moved meanwhile.
    """
    repository, git = context.project(project).path, context.world.git
    refuse_missing(context, project)
    integration, tip = integration_branch(context, project, repository)
    target = target_branch(context, project, repository)
    old = git.resolve(repository, head_ref(target))
    commits = git.commits(repository, old, tip) if old else None
    if old is None or commits is None:
        raise errors.Refused(what=f"git does not say what {target} has; is there a branch {target} in {repository}?")
    landing = Landing(
        project=project,
        target=target,
        integration=integration,
        commits=len(commits),
        moved=False,
        run=None,
        why=None,
        diverged=bool(commits) and git.contains(repository, integration, old) is not True,
        titles=git.titles(repository, old, tip, merges=True) if commits else [],
    )
    if not commits or dry:
        return landing
    checkouts = holders(git, repository, target)
    if checkouts is None:
        what = f"git does not say which branches of {repository} are checked out; `git worktree list` shows why"
        raise errors.Refused(what=what)
    if checkouts:
        return _land_in_checkout(context, checkouts, landing, tip, here=here)
    if landing.diverged:
        what = f"{target} has commits of its own that {integration} does not have"
        raise errors.Refused(what=f"{what}: check out {target} and run `git merge {integration}`")
    if not git.set_branch(repository, target, new=tip, old=old):
        raise errors.Refused(what=f"{target} moved meanwhile; try again")
    return landing.replaced(moved=True)


def waiting_to_land(context: Context, project: str) -> ToLand | None:
    """Return how many commits of the integration branch wait to land.

    None when there are none, when there is no integration branch or no target, and when git or the settings cannot be
    read, which the status page shows as an obstacle. Creates no branch.
    """
    repository, git = context.project(project).path, context.world.git
    try:
        integration = context.settings(project).integration
        target = target_branch(context, project, repository)
        tips = git.branches(repository, integration, target)
    except (errors.BadSetting, errors.DetachedHead, errors.GitRefused, errors.NotTrusted, errors.TargetGone, OSError):
        return None
    old, new = tips.get(target), tips.get(integration)
    commits = git.commits(repository, old, new) if old and new and old != new else None
    if not commits:
        return None
    return ToLand(project=project, commits=len(commits), integration=integration, target=target)


def _land_in_checkout(
    context: Context, checkouts: list[BranchHolder], landing: Landing, tip: str, *, here: str | None
) -> Landing:
    """Fast-forward the target in the person's own checkout; if that is not allowed, return the reason and the command.

    `checkouts` are the worktrees that have the target checked out, the repository's main one first. `here` is the
    folder in which the person is, None when it is not known.
    """
    holder = checkouts[0]
    why = _why_not_moved(context, checkouts, landing, here=here)
    if not why:
        refused = context.world.git.fast_forward(holder.path, tip)
        why = f"git refused: {refused}" if refused else ""
    if not why:
        return landing.replaced(moved=True)
    flag = "" if landing.diverged else "--ff-only "
    return landing.replaced(run=f"git -C {shlex.quote(holder.path)} merge {flag}{landing.integration}", why=why)


def _why_not_moved(context: Context, checkouts: list[BranchHolder], landing: Landing, *, here: str | None) -> str:
    """Return why a checked-out target may not be moved; "" when it may be moved in its only checkout.

    `here` is the folder in which the person is, None when it is not known.
    """
    target, busy = (
        landing.target,
        next((checkout for checkout in checkouts if checkout.operation or checkout.called_bare), None),
    )
    if busy is not None and busy.operation:
        return f"{target} is in use: {busy}; finish that first"
    if busy is not None:
        return f"{target} is {busy}; repair that first: `git -C {shlex.quote(busy.path)} config core.bare false`"
    if (
        here is None
        or len(checkouts) > 1
        or top_of(context.world.programs, here) != os.path.realpath(checkouts[0].path)
    ):
        return f"{target} is {checkouts[0]}"
    return f"{target} has commits of its own" if landing.diverged else ""
