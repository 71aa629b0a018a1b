"""Decide whether a repository inside a worktree may contain work that exists nowhere else."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from fleet.world.git.nested.submodules import WITHOUT_FILES, modules_of, recorded, repositories
from fleet.world.git.refs import git_dir
from fleet.world.git.worktrees import worktree_status

if TYPE_CHECKING:
    from fleet.world.git.git import Git


def clone_has_own_work(git: Git, path: str) -> bool:
    """Return whether a repository that somebody made in a worktree may contain work that exists nowhere else.

    A clone has no such work if its remotes have all its commits and its files are as committed; ignored files are not
    looked at here. True also for a worktree of another repository, and for a clone whose configuration has filters.
    """
    if not os.path.isdir(f"{path}/.git") or os.path.islink(f"{path}/.git"):
        return True
    return _has_own_commits(git, path) or has_filters(git, path) or edits(git, path) != []


def modules_with_own_commits(git: Git, tree: str, repository: str) -> list[str]:
    """Return the names of a worktree's submodules with commits that neither their remotes nor the user's checkout have.

    Submodules that are not checked out at present count too, as do commits that only a reflog names. Raise OSError when a
    folder cannot be read.
    """
    modules, checkout = modules_of(tree), f"{git_dir(repository)}/modules"
    found = [os.path.relpath(each, modules) for each in repositories(modules)]
    return [name for name in found if _module_has_own_commits(git, f"{modules}/{name}", f"{checkout}/{name}")]


def unseen_folders(git: Git, tree: str) -> list[str]:
    """Return the folders in the place of a submodule that have files but no `.git`; git status does not report them.

    Raise GitRefused when git cannot list the submodules.
    """
    places = [each.path for each in recorded(git.exactly, tree)]
    there = [each for each in places if os.path.isdir(f"{tree}/{each}") and os.listdir(f"{tree}/{each}")]
    return [each for each in there if not os.path.lexists(f"{tree}/{each}/.git")]


def has_filters(git: Git, path: str) -> bool:
    """Return whether a repository's own configuration has filters, which `git status` would run; True when git fails."""
    done = git.ask_foreign("config", path, "--show-scope", "--name-only", "--get-regexp", r"^filter\.")
    told = [line for line in done.out.splitlines() if line.startswith(("local", "worktree"))]
    return done.status not in {0, 1} or bool(told)


def edits(git: Git, path: str, *, but_missing: bool = False) -> list[tuple[str, str]] | None:
    """Return the changed and untracked files of a repository, each with git's short status; None when git fails.

    With `but_missing`, deleted files are left out.
    """
    found = worktree_status.read(git.ask_foreign, path, git.funnel)
    if found is None:
        return None
    changed = [(code, name.rstrip("/")) for code, name in found.changed if not (but_missing and code == " D")]
    return [*changed, *((" M", name) for name in found.hidden)]


def ignored_files(git: Git, path: str) -> list[str]:
    """Return the ignored files and folders of a submodule; [] when git fails."""
    found = worktree_status.read(git.ask_foreign, path, git.funnel)
    return list(found.ignored) if found else []


def _has_own_commits(git: Git, path: str) -> bool:
    """Return whether a repository has commits that none of its remotes has; True when git fails."""
    done = git.ask_foreign("rev-list", path, "--max-count=1", "--all", "--not", "--remotes")
    return not done.ok or bool(done.out.strip())


def _module_has_own_commits(git: Git, module: str, checkouts: str) -> bool:
    """Return whether a submodule's repository (`module`) has commits of its own; True when git fails.

    These are commits that are neither in its remotes nor in `checkouts`, the same submodule's repository in the user's
    checkout.
    """
    known = ""
    if os.path.isdir(checkouts):
        refs = git.run("for-each-ref", checkouts, *WITHOUT_FILES, "for-each-ref", "--format=^%(objectname)").out
        head = git.run("rev-parse", checkouts, *WITHOUT_FILES, "rev-parse", "--verify", "--quiet", "HEAD").out.strip()
        known = refs + (f"^{head}\n" if head else "")
    words = ("--max-count=1", "--ignore-missing", "--stdin", "--all", "--reflog", "--not", "--remotes")
    done = git.run("rev-list", module, *WITHOUT_FILES, "rev-list", *words, given=known)
    return not done.ok or bool(done.out.strip())
