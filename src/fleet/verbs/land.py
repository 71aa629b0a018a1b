"""Land: move the target branch to the integration branch, by fast-forward, when a person says so."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from fleet.errors import Refused
from fleet.verbs.branches import integration_branch, target_branch
from fleet.verbs.recorded_merges import refuse_missing

if TYPE_CHECKING:
    from fleet.verbs.ground import Ground


def land(ground: Ground, project: str, *, dry: bool = False) -> dict[str, Any]:
    """Move the target to the integration branch, by fast-forward; a branch that is checked out is not touched."""
    repository = ground.project(project)["path"]
    git = ground.world.git
    refuse_missing(ground, project)
    integration, tip = integration_branch(ground, project, repository)
    target = target_branch(ground, project, repository)
    old = git.resolve(repository, f"refs/heads/{target}")
    commits = git.commits(repository, old, tip) if old else None
    if old is None or commits is None:
        raise Refused(what=f"git does not say what {target} has; is there a branch {target} in {repository}?")
    found: dict[str, Any] = {"project": project, "target": target, "integration": integration, "commits": len(commits)}
    found |= {"moved": False, "run": None, "titles": git.titles(repository, old, tip, merges=True) if commits else []}
    apart = git.contains(repository, integration, old) is not True
    found |= {"diverged": bool(commits) and apart}
    if not commits or dry:
        return found
    trees = git.worktrees(repository)
    if trees is None:
        what = f"git does not say which branches of {repository} are checked out; `git worktree list` shows why"
        raise Refused(what=what)
    if any(each.branch == target for each in trees):
        return found | {"run": f"git -C {shlex.quote(repository)} merge {'' if apart else '--ff-only '}{integration}"}
    if apart:
        what = f"{target} has commits of its own that {integration} does not have"
        raise Refused(what=f"{what}: check out {target} and run `git merge {integration}`")
    if not git.set_branch(repository, target, new=tip, old=old):
        raise Refused(what=f"{target} moved meanwhile; try again")
    return found | {"moved": True}
