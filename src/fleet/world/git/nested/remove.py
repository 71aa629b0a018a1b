"""Remove the submodules of a worktree that is being removed: git refuses to remove a worktree that has any.

The caller has proven that they contain no work of their own, and has recorded that the worktree is being released. The
files of a submodule are deleted first, then its `.git` file, and at last the repositories of all. If the process is
killed in between, `restore` brings the files back, so that the proof can be repeated.
"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from fleet import errors
from fleet.world.git.git import error_line
from fleet.world.git.nested.own_work import has_filters
from fleet.world.git.nested.repositories import repositories_in
from fleet.world.git.nested.submodules import is_submodule, modules_of

if TYPE_CHECKING:
    from fleet.world.git.git import Git


def take_out(git: Git, tree: str) -> None:
    """Delete the checked-out submodules of a worktree, then move their repositories aside.

    `tree` is the path of the worktree. The repositories go to a folder that git deletes together with the worktree.
    Does nothing when there are none. Safe to repeat.
    """
    modules = modules_of(tree)
    if not os.path.isdir(modules):
        return
    for name in reversed(_submodules_of(tree)):  # nested submodules first
        git.funnel.through("empty submodule", lambda: _empty_submodule(f"{tree}/{name}"))  # noqa: B023 - called at once
    gone = f"{modules}.fleet-gone"  # git removes it with the worktree's entry
    if os.path.isdir(gone):
        git.funnel.through("remove submodules", lambda: shutil.rmtree(gone))
    git.funnel.through("take submodules out", lambda: os.rename(modules, gone))


def restore(git: Git, tree: str) -> None:
    """Check out the files of a worktree's submodules that an interrupted `take_out` has deleted.

    Raise GitRefused when git fails. Existing files stay unchanged. A submodule whose configuration has filters is left
    as it is.
    """
    for name in _submodules_of(tree):
        path = f"{tree}/{name}"
        if has_filters(git, path):
            continue  # `removal_verdict` in resources/worktree keeps such a worktree
        done = git.ask_foreign("ls-files", path, "--deleted", "-z")
        if done.ok and done.out:
            done = git.ask_foreign("checkout-index", path, "-z", "--stdin", given=done.out)
        if not done.ok:
            raise errors.GitRefused(what=f"restore {path}", why=error_line(done))


def _submodules_of(tree: str) -> list[str]:
    """Return the folders of a worktree's checked-out submodules; outer ones before the nested ones."""
    if not os.path.isdir(modules_of(tree)):
        return []
    return [name for name in repositories_in(tree) if is_submodule(tree, name)]


def _empty_submodule(path: str) -> None:
    """Delete the content of a submodule's folder, its `.git` file last. The folder itself stays."""
    for name in sorted(os.listdir(path), key=lambda each: each == ".git"):
        place = f"{path}/{name}"
        if os.path.isdir(place) and not os.path.islink(place):
            shutil.rmtree(place)
        else:
            os.unlink(place)
