"""Add worktrees of fleet's, and check out their files and branches while nobody has worked there yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import errors
from fleet.world.git.git import error_line

if TYPE_CHECKING:
    from fleet.world.git.git import Git, Meanwhile

# Files are checked out by as many workers as there are processors.
_MANY = ("-c", "checkout.workers=0")
# A worktree and git's entry of it point to each other by absolute paths, so that any process can follow them.
_ADD = (*_MANY, "-c", "worktree.useRelativePaths=false", "worktree", "add", "--quiet", "--lock")


def add_worktree(
    git: Git, repository: str, path: str, branch: str, *, reason: str, limit: float, lock: int, meanwhile: Meanwhile
) -> None:
    """Add a worktree on an existing branch; raise GitRefused when git fails.

    It is locked with fleet's reason from the start, so that it is recognised as fleet's even if git is killed. `limit`
    is in seconds, `lock` the descriptor of an effect lock; `meanwhile` is called while git runs.
    """
    words = [*_ADD, "--reason", reason, path, branch]
    _add(git, repository, *words, limit=limit, lock=lock, meanwhile=meanwhile)


def add_detached(
    git: Git, repository: str, path: str, commit: str, *, reason: str, limit: float, lock: int, meanwhile: Meanwhile
) -> None:
    """Add a worktree at a commit, on no branch, without its files. Otherwise as `add_worktree`."""
    words = [*_ADD, "--no-checkout", "--reason", reason, "--detach", path, commit]
    _add(git, repository, *words, limit=limit, lock=lock, meanwhile=meanwhile)


def add_scratch(git: Git, repository: str, path: str, commit: str, *, reason: str, limit: float, lock: int) -> None:
    """Add a worktree at a commit, on no branch, with its files. Otherwise as `add_worktree`."""
    words = [*_ADD, "--reason", reason, "--detach", path, commit]
    _add(git, repository, *words, limit=limit, lock=lock)


def begin_branch(git: Git, path: str, branch: str, *, maker: str, limit: float, lock: int) -> None:
    """Create a branch at a worktree's commit and check out its files; raise GitRefused if it exists or git fails.

    The branch's reflog begins with the name `maker`, which later proves who created the branch.
    """
    words = [*_MANY, "-c", "core.logAllRefUpdates=true", "checkout", "--quiet", "-b", branch]
    git.write(path, *words, limit=limit, lock=lock, committer=maker)


def switch_worktree(git: Git, path: str, branch: str, *, limit: float, lock: int) -> None:
    """Check out a branch in a worktree in which nobody has worked yet; raise GitRefused when git fails."""
    git.write(path, *_MANY, "checkout", "--quiet", branch, "--", limit=limit, lock=lock)


def fill_worktree(git: Git, path: str, *, limit: float, lock: int) -> None:
    """Check out the files of a worktree in which nobody has worked yet; raise GitRefused when git fails."""
    git.write(path, *_MANY, "reset", "--hard", "--quiet", limit=limit, lock=lock)


def _add(git: Git, repository: str, *words: str, limit: float, lock: int, meanwhile: Meanwhile = None) -> None:
    """Run a git command that adds a worktree; raise GitRefused when it fails."""
    done = git.run("worktree add", repository, *words, limit=limit, lock=lock, meanwhile=meanwhile)
    if not done.ok:
        raise errors.GitRefused(what="git worktree add", why=error_line(done))
