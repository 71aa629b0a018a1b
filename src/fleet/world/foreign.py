"""Repositories inside a worktree that are not the worktree's own, and a worktree whose own pointer to git was made anew."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from fleet.world.git import git_dir

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fleet.world.git import Git


def is_of_repository(git: Git, path: str, repository: str) -> bool:
    """Whether git, asked in the worktree, answers for that worktree and for its repository."""
    found = git.place_of(path)
    return found is not None and found == (os.path.realpath(path), os.path.realpath(git_dir(repository)))


def repositories_in(path: str) -> list[str]:
    """Folders below a worktree that have a `.git` of their own. OSError when a folder cannot be read."""
    return sorted(os.path.relpath(each, path) for each in _with_git(path) if each != path)


def has_own_work(git: Git, path: str) -> bool:
    """Whether a nested repository may have something that is nowhere else.

    A clone has not, as long as all its commits are on its remotes. A worktree of another repository may have uncommitted files.
    """
    return not os.path.isdir(f"{path}/.git") or os.path.islink(f"{path}/.git") or git.has_own_commits(f"{path}/.git")


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
