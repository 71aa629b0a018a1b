"""Repositories inside a worktree, and worktrees whose own `.git` file was replaced."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from fleet.world.git import worktree_status
from fleet.world.git.refs import git_dir

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fleet.world.git.git import Git


def is_of_repository(git: Git, path: str, repository: str) -> bool:
    """Whether git, asked in the worktree, answers for that worktree and for its repository."""
    found = git.place_of(path)
    return found is not None and found == (os.path.realpath(path), os.path.realpath(git_dir(repository)))


def repositories_in(path: str) -> list[str]:
    """Folders below a worktree that have a `.git` of their own. OSError when a folder cannot be read."""
    return sorted(os.path.relpath(each, path) for each in _with_git(path) if each != path)


def with_own_work(git: Git, path: str) -> list[str]:
    """Return the repositories below a worktree that may contain work which exists nowhere else.

    OSError when a folder cannot be read.
    """
    found = repositories_in(path)
    return [each for each in found if _has_repository_in(each, found) or has_own_work(git, f"{path}/{each}")]


def has_own_work(git: Git, path: str) -> bool:
    """Whether a nested repository may contain work which exists nowhere else.

    A clone does not, while all its commits are on its remotes and its files are as committed. Its ignored files are
    judged by their place in the worktree. A worktree of another repository may contain anything.
    """
    if not os.path.isdir(f"{path}/.git") or os.path.islink(f"{path}/.git"):
        return True
    return _has_own_commits(git, path) or _has_filters(git, path) or _has_edits(git, path)


def _has_repository_in(name: str, found: list[str]) -> bool:
    """Whether a repository contains another one, which git would read with that one's configuration."""
    return any(each.startswith(f"{name}/") for each in found)


def _has_own_commits(git: Git, path: str) -> bool:
    """Whether a repository has commits that none of its remotes has; True when git does not say."""
    done = git.ask_foreign("rev-list", path, "--max-count=1", "--all", "--not", "--remotes")
    return not done.ok or bool(done.out.strip())


def _has_filters(git: Git, path: str) -> bool:
    """Whether a repository configures programs that git would run to compare files; True when git does not say."""
    done = git.ask_foreign("config", path, "--show-scope", "--name-only", "--get-regexp", r"^filter\.")
    told = [line for line in done.out.splitlines() if line.startswith(("local", "worktree"))]
    return done.status not in {0, 1} or bool(told)


def _has_edits(git: Git, path: str) -> bool:
    """Whether a repository has changed or untracked files; True when git does not say."""
    found = worktree_status.read(git.ask_foreign, path, git.funnel)
    return found is None or bool(found.changed) or bool(found.hidden)


def _with_git(path: str) -> Iterator[str]:
    folders = [path]
    while folders:
        here = folders.pop()
        with os.scandir(here) as entries:
            for entry in entries:
                if entry.name == ".git":
                    yield here
                elif entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
