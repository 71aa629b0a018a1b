"""Find repositories inside a worktree, and detect a worktree whose own `.git` file was replaced."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from fleet.world.git.nested.own_work import (
    clone_has_own_work,
    edits,
    has_filters,
    ignored_files,
    modules_with_own_commits,
    unseen_folders,
)
from fleet.world.git.nested.submodules import is_submodule, modules_of
from fleet.world.git.refs import git_dir

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fleet.world.git.git import Git


def is_of_repository(git: Git, path: str, repository: str) -> bool:
    """Return whether a folder is the top of a worktree of this repository, according to git when it runs there.

    False when git fails.
    """
    found = git.place_of(path)
    return found is not None and found == (os.path.realpath(path), os.path.realpath(git_dir(repository)))


def repositories_in(path: str) -> list[str]:
    """Return the folders below a worktree that have their own `.git`; raise OSError when a folder cannot be read."""
    return sorted(os.path.relpath(each, path) for each in _folders_with_git(path) if each != path)


def with_own_work(git: Git, path: str, repository: str, *, but_missing: bool = False) -> list[str]:
    """Return the repositories and submodule folders below a worktree that may contain work that exists nowhere else.

    Each is a path in the worktree, or the name of a submodule that has commits of its own. With `but_missing`, deleted
    files of a submodule do not count, because an interrupted removal deletes them. Raise OSError when a folder cannot
    be read, GitRefused when git cannot list the submodules.
    """
    found = repositories_in(path)
    submodules = {name for name in found if is_submodule(path, name)}
    clones = [name for name in found if name not in submodules]
    kept = [each for each in clones if _has_repository_in(each, found) or clone_has_own_work(git, f"{path}/{each}")]
    edited = [each for each in sorted(submodules) if _has_own_files(git, path, each, but_missing=but_missing)]
    return [*kept, *edited, *modules_with_own_commits(git, path, repository), *unseen_folders(git, path)]


def ignored_in_submodules(git: Git, path: str) -> list[str]:
    """Return the ignored files and folders of a worktree's submodules, by their paths in the worktree.

    Those of a submodule in which git fails are left out.
    """
    found = [name for name in repositories_in(path) if is_submodule(path, name)] if has_submodules(path) else []
    return [f"{name}/{each}" for name in found for each in ignored_files(git, f"{path}/{name}")]


def has_submodules(path: str) -> bool:
    """Return whether git keeps repositories of submodules for a worktree."""
    return os.path.isdir(modules_of(path))


def _has_own_files(git: Git, tree: str, name: str, *, but_missing: bool) -> bool:
    """Return whether a submodule may have edits of its own.

    Untracked submodules inside it do not count, because they are checked separately. With `but_missing`, deleted files do
    not count.
    """
    path = f"{tree}/{name}"
    if has_filters(git, path):
        return True
    found = edits(git, path, but_missing=but_missing)
    return found is None or any(code != "??" or not is_submodule(tree, f"{name}/{each}") for code, each in found)


def _has_repository_in(name: str, found: list[str]) -> bool:
    """Return whether one of the repositories `found` lies inside the repository `name`.

    Callers do not run git in such an outer repository, because git would run the programs that the configuration of the
    inner repository names.
    """
    return any(each.startswith(f"{name}/") for each in found)


def _folders_with_git(path: str) -> Iterator[str]:
    """Yield the folders at and below a path that contain a `.git`; symlinks are not followed."""
    folders = [path]
    while folders:
        here = folders.pop()
        with os.scandir(here) as entries:
            for entry in entries:
                if entry.name == ".git":
                    yield here
                elif entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
