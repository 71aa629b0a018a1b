"""Worktrees whose creation was interrupted. Nobody has worked in them, so they may be completed or removed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.world.git.refs import git_dir
from fleet.world.git.worktrees import leftovers

if TYPE_CHECKING:
    from fleet.model.dispatch.claim import Claim
    from fleet.world.world import World


def lock_prefix(world: World) -> str:
    """Return the beginning of git's lock reason for all worktrees of this home."""
    return f"fleet {world.tmux.home_id} "


def lock_reason(claim: Claim, dispatch: str, world: World) -> str:
    """Return the lock reason for a new worktree. It names home, dispatch and claim, and so proves who made the worktree."""
    return f"{lock_prefix(world)}{dispatch} {claim.id}"


def is_locked_by(claim: Claim, lock: str | None, world: World) -> bool:
    """Return whether a worktree with the lock reason `lock` was made by this claim.

    None stands for a worktree that is not locked.
    """
    return (lock or "").startswith(lock_prefix(world)) and (lock or "").endswith(f" {claim.id}")


def is_used(claim: Claim, world: World) -> bool:
    """Return whether somebody may have worked in a half-made worktree.

    True when its checkout was complete, and git finds changes in it or cannot tell.
    """
    return leftovers.is_filled(claim.name) and world.git.is_dirty(claim.name) is not False


def is_empty_folder(claim: Claim) -> bool:
    """Return whether only an empty folder is at the path of a worktree that was not created yet.

    Such a worktree counts as absent.
    """
    return claim.is_unmade and leftovers.is_blank(claim.name)


def has_leftovers(claim: Claim, world: World) -> bool:
    """Return whether an interrupted creation left parts of this claim's worktree.

    Reads the files themselves, for callers to whom git could not list the worktrees.
    """
    place = git_dir(claim.data["repository"])
    ours = lambda lock: is_locked_by(claim, lock, world)  # noqa: E731
    return claim.is_unmade and bool(leftovers.entries_left(place, claim.name, ours, world.namespaces.sees_everyone))


def discard(claim: Claim, world: World) -> None:
    """Remove everything that the interrupted creation of this claim's worktree left."""
    place = git_dir(claim.data["repository"])
    ours = lambda lock: is_locked_by(claim, lock, world)  # noqa: E731
    world.funnel.through(
        "discard worktree", lambda: leftovers.discard_entries(place, claim.name, ours, world.namespaces.sees_everyone)
    )
