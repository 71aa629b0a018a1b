"""A worktree whose removal was begun and did not come to its end. git had found it clean; what it has taken away is in the repository."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from fleet.world.git import leftovers
from fleet.world.git.git import git_dir

if TYPE_CHECKING:
    from fleet.model.dispatch.claim import Claim
    from fleet.world.git.git import Worktree
    from fleet.world.world import World

LEAVING = frozenset({"releasing", "releasing_blocked"})


def has_lost_its_pointer(claim: Claim) -> bool:
    """Whether the removal has taken away by what git knows the tree: then git does not see it any more."""
    return claim.state in LEAVING and os.path.isdir(claim.name) and leftovers.has_no_pointer(claim.name)


def is_registered_on_branch(claim: Claim, here: Worktree) -> bool:
    """Whether the repository still has the entry of such a tree, on its branch."""
    return has_lost_its_pointer(claim) and here.branch == claim.data["branch"]


def restore(claim: Claim, world: World) -> None:
    """Give a tree whose removal is given up, or begun anew, back what is missing in it. What is there is not touched."""
    if claim.state not in LEAVING:
        return
    repoint(claim, world)
    world.git.restore_missing(claim.name)


def repoint(claim: Claim, world: World) -> None:
    """Let git see it again."""
    if has_lost_its_pointer(claim):
        place = git_dir(claim.data["repository"])
        world.funnel.through("repoint worktree", lambda: leftovers.repoint(place, claim.name))
