"""A worktree whose maker never came to an end. Nobody ever worked in it, so it may be completed or go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.world.git import leftovers
from fleet.world.git.git import git_dir

if TYPE_CHECKING:
    from fleet.model.dispatch.claim import Claim
    from fleet.world.world import World

UNMADE = frozenset({"allocating", "failed_alloc"})


def lock_prefix(world: World) -> str:
    """What the locks of this home's worktrees begin with."""
    return f"fleet {world.tmux.home_id} "


def lock_reason(claim: Claim, dispatch: str, world: World) -> str:
    """Why git is to lock it: who makes it, and by which claim. Whatever another claim made is not half-made by this one."""
    return f"{lock_prefix(world)}{dispatch} {claim.id}"


def is_locked_by(claim: Claim, lock: str | None, world: World) -> bool:
    """Whether a worktree that is locked for this reason was made by this claim."""
    return (lock or "").startswith(lock_prefix(world)) and (lock or "").endswith(f" {claim.id}")


def is_used(claim: Claim, world: World) -> bool:
    """Whether somebody may have worked in it: its files were all there (git writes the index last), and are not as they were."""
    return leftovers.is_filled(claim.name) and world.git.is_dirty(claim.name) is not False


def is_empty_folder(claim: Claim) -> bool:
    """Whether all there is is an empty folder: as good as nothing."""
    return claim.state in UNMADE and leftovers.is_blank(claim.name)


def has_leftovers(claim: Claim, world: World) -> bool:
    """Whether there is anything of it; for when git, which stumbles over it, does not say."""
    place = git_dir(claim.data["repository"])
    ours = lambda lock: is_locked_by(claim, lock, world)  # noqa: E731
    return claim.state in UNMADE and bool(leftovers.found(place, claim.name, ours, world.namespaces.sees_everyone))


def discard(claim: Claim, world: World) -> None:
    """Remove whatever there is of it."""
    place = git_dir(claim.data["repository"])
    ours = lambda lock: is_locked_by(claim, lock, world)  # noqa: E731
    world.funnel.through(
        "discard worktree", lambda: leftovers.discard(place, claim.name, ours, world.namespaces.sees_everyone)
    )
