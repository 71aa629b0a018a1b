"""Whose a task's branch is. Only what is provably this project's is adopted or deleted.

The mark in git's configuration names home, project and branch. The branch's reflog proves that the mark is this branch's and not
a leftover of one that was deleted: it begins with a claim of fleet's as the maker, or when the mark says. A reflog that does not
go back that far any more proves nothing: then the branch has to be where fleet left it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from fleet.model.branches import head_ref
from fleet.model.dispatch.branch_marks import base_in, birth_in
from fleet.resources.worktree.half_made import lock_prefix

if TYPE_CHECKING:
    from fleet.model.dispatch.claim import Claim
    from fleet.resources.kind import Order
    from fleet.world.git.proofs import Birth
    from fleet.world.world import World

_MAKER = "fleet "


def maker_of(claim: Claim) -> str:
    """Whom the reflog of a branch names that a claim makes."""
    return f"{_MAKER}{claim.id}"


def is_made_by(claim: Claim, repository: str, branch: str, world: World) -> bool:
    """Whether this very claim made the branch; it may have been killed before it was marked."""
    return world.proofs.branch_birth(repository, branch).maker == maker_of(claim)


def is_branch_of_project(order: Order, world: World) -> bool:
    """Whether the branch bears the mark of the order's project, and still contains the commit that the mark says it began at."""
    ref, mark = head_ref(order.branch), world.proofs.branch_mark(order.repository, order.branch)
    base = base_in(mark)
    if not order.branch_mark or not mark.startswith(order.branch_mark) or not base:
        return False
    birth = world.proofs.branch_birth(order.repository, order.branch)
    if not birth.at and world.git.resolve(order.repository, ref) != world.proofs.branch_left(
        order.repository, order.branch
    ):
        return False
    return _may_be_marked_branch(mark, birth) and world.git.is_in(order.repository, base, ref) is True


def may_delete_branch(claim: Claim, repository: str, branch: str, world: World, *, held: bool) -> bool:
    """Whether a branch is this claim's to delete. `held`: until just now git had it checked out in the claim's worktree."""
    owner = claim.data.get("branch_mark") or claim.data.get("owner_mark") or ""
    mark, birth = world.proofs.branch_mark(repository, branch), world.proofs.branch_birth(repository, branch)
    marked = bool(owner) and mark.startswith(owner) and (held or bool(birth.at)) and _may_be_marked_branch(mark, birth)
    return marked or birth.maker == maker_of(claim)


def mark_unmarked_branch(claim: Claim, owner: str, world: World) -> None:
    """Mark the branch of a worktree that was made before there were marks, if git has it checked out there under our lock.

    The claim is the proof.
    """
    repository, branch = claim.data["repository"], claim.data["branch"]
    if "branch_mark" in claim.data or world.proofs.branch_mark(repository, branch).startswith(owner):
        return
    known = world.git.worktrees(repository) or []
    here = next((each for each in known if os.path.realpath(each.path) == os.path.realpath(claim.name)), None)
    if here is None or here.branch != branch or not (here.locked or "").startswith(lock_prefix(world)):
        return
    birth = world.proofs.branch_birth(repository, branch)
    world.proofs.mark_branch(repository, branch, f"{owner}{birth.commit or here.head} {birth.at}".rstrip())


def _may_be_marked_branch(mark: str, birth: Birth) -> bool:
    """Whether a branch may be the one that was marked, by what its reflog says of its making. An old reflog does not say any more."""
    return not birth.at or birth.maker.startswith(_MAKER) or birth.at == birth_in(mark)
