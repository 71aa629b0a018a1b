"""Decide whether a task's branch belongs to this project. Only such a branch is adopted or deleted.

The mark in git's configuration names the home, the project and the branch. The branch's reflog proves that the mark
belongs to this branch and not to a deleted one of the same name: its first entry names a claim of fleet as the maker,
or has the time in the mark. A reflog that no longer reaches back to the start proves nothing; then the branch must be
at the commit where fleet left it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.branches import head_ref
from fleet.model.dispatch.branch_marks import base_in, birth_in
from fleet.resources.worktree.half_made import lock_prefix

if TYPE_CHECKING:
    from fleet.model.dispatch.claim import Claim
    from fleet.world.git.proofs import Birth
    from fleet.world.world import World

_MAKER = "fleet "


def maker_of(claim: Claim) -> str:
    """Return the name that the reflog shows as the maker of a branch that this claim creates."""
    return f"{_MAKER}{claim.id}"


def is_made_by(claim: Claim, repository: str, branch: str, world: World) -> bool:
    """Return whether this claim created the branch, according to the branch's reflog.

    That is the only proof if fleet died before it marked the branch.
    """
    return world.proofs.branch_birth(repository, branch).maker == maker_of(claim)


def foreign_branch(path: str, branch: str, repository: str) -> errors.ForeignBranch:
    """Return the error for a branch that does not provably belong to this project; `path` is the worktree that needs it."""
    advice = f"rename or delete the branch {branch} in {repository}, or choose another slug"
    why = f"branch {branch} exists and is not provably of this project's agents"
    return errors.ForeignBranch(path=path, why=why, advice=advice)


def is_branch_of_project(repository: str, branch: str, owner: str, world: World, *, known: str = "") -> bool:
    """Return whether a branch provably belongs to the project whose marks begin with `owner`.

    Either the branch is at `known`, a commit that is recorded as the task's work ("" for none): so a branch counts that
    a person created again there. Or it has the project's mark, its reflog does not contradict the mark, and it contains
    the commit at which the mark says that it started. If the reflog no longer says when the branch was made, the branch
    must also be at the commit where fleet left it.
    """
    ref = head_ref(branch)
    if known and world.git.resolve(repository, ref) == known:
        return True
    mark = world.proofs.branch_mark(repository, branch)
    base = base_in(mark)
    if not owner or not mark.startswith(owner) or not base:
        return False
    birth = world.proofs.branch_birth(repository, branch)
    if not birth.at and world.git.resolve(repository, ref) != world.proofs.branch_left(repository, branch):
        return False
    return _may_be_marked_branch(mark, birth) and world.git.is_in(repository, base, ref) is True


def may_delete_branch(claim: Claim, repository: str, branch: str, world: World, *, held: bool) -> bool:
    """Return whether this claim may delete a branch: it has the mark of the claim's project, or the claim created it.

    `held`: the claim's worktree, just removed, had the branch checked out. Without that, the mark counts only while the
    branch's reflog says when the branch was made.
    """
    owner = claim.data.get("branch_mark") or claim.data.get("owner_mark") or ""
    mark, birth = world.proofs.branch_mark(repository, branch), world.proofs.branch_birth(repository, branch)
    marked = bool(owner) and mark.startswith(owner) and (held or bool(birth.at)) and _may_be_marked_branch(mark, birth)
    return marked or birth.maker == maker_of(claim)


def mark_unmarked_branch(claim: Claim, owner: str, world: World) -> None:
    """Mark the branch of a worktree that was made before marks existed.

    Do nothing unless git lists the claim's worktree on that branch, locked by this home: only then does the claim prove
    who owns the branch. `owner` is the beginning of the mark, which names the home, the project and the branch.
    """
    repository, branch = claim.data["repository"], claim.data["branch"]
    if "branch_mark" in claim.data or world.proofs.branch_mark(repository, branch).startswith(owner):
        return
    known = world.git.worktrees(repository) or []
    here = next((listed for listed in known if os.path.realpath(listed.path) == os.path.realpath(claim.name)), None)
    if here is None or here.branch != branch or not (here.locked or "").startswith(lock_prefix(world)):
        return
    birth = world.proofs.branch_birth(repository, branch)
    world.proofs.mark_branch(repository, branch, f"{owner}{birth.commit or here.head} {birth.at}".rstrip())


def _may_be_marked_branch(mark: str, birth: Birth) -> bool:
    """Return whether fleet's mark in git's configuration can be about this branch, not an earlier one of the same name.

    The reflog says when and by whom the branch was made (`birth`). True when the reflog is too short to say.
    """
    return not birth.at or birth.maker.startswith(_MAKER) or birth.at == birth_in(mark)
