"""Repair worktrees whose removal was interrupted. git had found them clean, so all deleted files are in the repository."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from fleet.world.git.nested import remove
from fleet.world.git.refs import git_dir
from fleet.world.git.worktrees import leftovers
from fleet.world.git.worktrees.remove import restore_missing

if TYPE_CHECKING:
    from fleet.model.dispatch.claim import Claim
    from fleet.world.git.worktrees.worktree_status import ListedWorktree
    from fleet.world.world import World


def has_lost_its_pointer(claim: Claim) -> bool:
    """Return whether an interrupted removal deleted the worktree's `.git` file, so that git no longer sees it."""
    return claim.is_leaving and os.path.isdir(claim.name) and leftovers.has_no_pointer(claim.name)


def is_registered_on_branch(claim: Claim, here: ListedWorktree) -> bool:
    """Return whether an interrupted removal deleted a worktree's `.git` file while git still lists it on the claim's branch.

    `here` is git's entry for the worktree.
    """
    return has_lost_its_pointer(claim) and here.branch == claim.data["branch"]


def restore(claim: Claim, world: World) -> None:
    """Restore the files that an interrupted removal deleted from a worktree. Existing files stay unchanged.

    Do nothing for a claim whose release has not begun.
    """
    if not claim.is_leaving:
        return
    repoint(claim, world)
    restore_missing(world.git, claim.name)
    remove.restore(world.git, claim.name)


def repoint(claim: Claim, world: World) -> None:
    """Write the `.git` file again if an interrupted removal deleted it, so that git recognises the worktree."""
    if has_lost_its_pointer(claim):
        place = git_dir(claim.data["repository"])
        world.funnel.through("repoint worktree", lambda: leftovers.repoint(place, claim.name))
