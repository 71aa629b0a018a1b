"""Decide whether a task's worktree may be removed; all code that removes worktrees asks here.

A worktree is kept when it has work that exists nowhere else: uncommitted changes, changes hidden from git by index
flags, a rebase in progress, another repository inside it, or a `.git` that somebody replaced. Ignored files that may
not be reproducible are moved to the trash first.
"""

from __future__ import annotations

import json
import os
import shlex
from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.dispatch.worktree_verdict import Aside, Go, Keep, first_names, is_disposable
from fleet.resources.worktree.half_removed import has_lost_its_pointer
from fleet.world.git.nested import repositories
from fleet.world.git.nested.submodules import other_repositories_among
from fleet.world.git.refs import rebased_branch
from fleet.world.git.worktrees.ignored import IrreproducibleFiles, digest
from fleet.world.git.worktrees.worktree_status import printable_name
from fleet.world.home import paths

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fleet.model.dispatch.claim import Claim
    from fleet.model.dispatch.worktree_verdict import Verdict
    from fleet.world.git.worktrees.worktree_status import TreeStatus
    from fleet.world.world import World


def removal_verdict(claim: Claim, world: World, *, disposable: Sequence[str]) -> Verdict:
    """Return Go when a worktree may be removed, Keep when not, Aside when files have to be moved to the trash before.

    Change nothing. `disposable` has the patterns of ignored files that can be made again. Go for a half-made worktree,
    because nobody has worked in it, and for one whose `.git` file was deleted by an interrupted removal, because git
    had found it clean: whoever continues the removal restores the worktree and asks again. Go also for a worktree that
    does not exist, and for a claim of another kind.
    """
    if claim.kind != "worktree" or claim.is_unmade or not os.path.isdir(claim.name) or has_lost_its_pointer(claim):
        return Go()
    try:
        return (
            _keep_rebase(claim) or _keep_foreign_repository(claim, world) or _verdict_on_files(claim, world, disposable)
        )
    except OSError as error:
        return Keep(reason=f"{claim.name} cannot be read: {error}")
    except errors.GitRefused as error:
        return Keep(reason=f"{claim.name} is not understood: {error}")
    except RecursionError:
        return Keep(reason=f"{claim.name} has folders that are too deep to be looked at")


def is_rebasing(claim: Claim, branch: str | None) -> bool:
    """Return whether a worktree is on no branch because a rebase of the task's own branch is in progress.

    The next agent continues that rebase. `branch` is the worktree's branch, None for none. False also when the worktree
    is not completely made, or when its removal has begun.
    """
    return claim.is_live and branch is None and rebased_branch(claim.name) == claim.data.get("branch")


def _keep_rebase(claim: Claim) -> Keep | None:
    """Return Keep for a worktree in the middle of a rebase, whose new commits are on no branch yet; else None."""
    if not rebased_branch(claim.name):
        return None
    ways = f"`git -C {shlex.quote(claim.name)} rebase --continue` or `--abort` ends it"
    return Keep(reason=f"a rebase is in progress in {claim.name}: {ways}")


def _keep_foreign_repository(claim: Claim, world: World) -> Keep | None:
    """Return Keep for a worktree whose `.git` is not fleet's, or that contains another repository's work; else None."""
    path, repository = claim.name, claim.data["repository"]
    if not repositories.is_of_repository(world.git, path, repository):
        if not world.git.is_remade(path) and world.git.place_of(path) is None:
            return Keep(reason=f"git does not say whether {path} has uncommitted work")
        return Keep(reason=f"{path}/.git was made anew: what is there is not the worktree that fleet made")
    missing = not claim.is_live  # an interrupted removal deletes files of submodules first
    nested = repositories.with_own_work(world.git, path, repository, but_missing=missing)
    if not nested:
        return None
    names = first_names([printable_name(name) for name in nested])
    return Keep(
        reason=f"{path} has another repository in it, with work that may be nowhere else: {names}", files=tuple(nested)
    )


def _verdict_on_files(claim: Claim, world: World, disposable: Sequence[str]) -> Verdict:
    """Return the verdict by the files of a worktree: Keep for uncommitted work, else by its ignored files."""
    path, status = claim.name, world.git.status(claim.name)
    if status is None:
        return Keep(reason=f"git does not say whether {path} has uncommitted work")
    return _keep_work(claim, status) or _verdict_on_ignored(claim, world, status, disposable)


def _keep_work(claim: Claim, status: TreeStatus) -> Keep | None:
    """Return Keep for uncommitted work; None when there is none. Files that an interrupted removal deleted do not count."""
    changed = [name for code, name in status.changed if claim.is_live or code != " D"]
    files = tuple(dict.fromkeys([*changed, *status.hidden]))
    nested = other_repositories_among(status, claim.name)
    if nested:
        names = first_names([printable_name(name) for name in nested])
        reason = (
            f"{claim.name} has uncommitted work and another repository in it, which a commit would not hold: {names}"
        )
        return Keep(reason=reason, files=files)
    if changed:
        return Keep(reason=f"{claim.name} has uncommitted work", files=files, committable=True)
    if not status.hidden:
        return None
    names = first_names([printable_name(name) for name in status.hidden])
    hidden = "that git was told not to look at (skip-worktree or assume-unchanged)"
    return Keep(reason=f"{claim.name} has uncommitted work {hidden}: {names}", files=files, committable=True)


def _verdict_on_ignored(claim: Claim, world: World, status: TreeStatus, disposable: Sequence[str]) -> Verdict:
    """Return Aside with the ignored files that cannot be reproduced; Go when there are none."""
    copies = copied_files(world, claim)

    def is_reproducible(name: str) -> bool:
        """Return whether a file is disposable by its name, or an unchanged copy that fleet made."""
        copied = copies.get(name)
        return is_disposable(name, disposable) or (bool(copied) and digest(f"{claim.name}/{name}") == copied)

    ignored = (*status.ignored, *repositories.ignored_in_submodules(world.git, claim.name))
    left = IrreproducibleFiles(claim.name, is_reproducible).add(ignored)
    return Aside(paths=tuple(left.paths), files=left.files, size=left.size) if left.paths else Go()


def copied_files(world: World, claim: Claim) -> dict[str, str]:
    """Return the files that fleet copied into a worktree, each with its digest; empty when the record cannot be read."""
    try:
        copies = json.loads(world.files.read(paths.copied_files(claim.project or "", claim.slug or "")))
    except (OSError, ValueError):
        return {}
    return copies if isinstance(copies, dict) else {}
