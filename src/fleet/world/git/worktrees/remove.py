"""Remove worktrees of fleet's, and repair those that were moved or half removed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from fleet import errors
from fleet.world.git.git import LONG, error_line

if TYPE_CHECKING:
    from fleet.world.git.git import Git


def remove_worktree(git: Git, repository: str, path: str, *, reason: str, lock: int) -> None:
    """Remove a clean worktree, never by force.

    When git refuses, for example because of uncommitted work, lock it again with `reason` and raise GitRefused.
    """
    git.run("worktree unlock", repository, "worktree", "unlock", path)
    done = git.run("worktree remove", repository, "worktree", "remove", path, limit=LONG, lock=lock)
    if not done.ok:
        git.run("worktree lock", repository, "worktree", "lock", "--reason", reason, path)
        raise errors.GitRefused(what=f"remove {path}", why=error_line(done))


def discard_scratch(git: Git, repository: str, path: str, *, lock: int) -> None:
    """Remove by force a worktree that only git and the verify command wrote to; raise GitRefused when git fails."""
    git.run("worktree unlock", repository, "worktree", "unlock", path)
    words = ["worktree", "remove", "--force", path]
    done = git.run("worktree remove", repository, *words, limit=LONG, lock=lock)
    if not done.ok:
        raise errors.GitRefused(what=f"remove {path}", why=error_line(done))


def forget_worktree(git: Git, repository: str, path: str) -> None:
    """Remove git's entry of a worktree whose directory is gone, and no other entry; a failure is ignored."""
    git.run("worktree unlock", repository, "worktree", "unlock", path)
    git.run("worktree forget", repository, "worktree", "remove", path)


def restore_missing(git: Git, path: str) -> None:
    """Check out the files that an interrupted removal deleted, and no other; raise GitRefused when git fails."""
    done = git.exactly("ls-files", path, "--deleted", "-z")
    if done.ok and done.out:
        done = git.exactly("checkout-index", path, "-z", "--stdin", given=done.out)
    if not done.ok:
        raise errors.GitRefused(what=f"restore {path}", why=error_line(done))


def repair_worktree(git: Git, repository: str, path: str) -> str:
    """Tell git the new path of a worktree that was moved. Return why that failed; empty when it worked."""
    done = git.run("worktree repair", repository, "worktree", "repair", path)
    known = git.worktrees(repository)
    if known is not None and any(os.path.realpath(each.path) == os.path.realpath(path) for each in known):
        return ""
    return error_line(done) or "git does not know it"
