"""Recognise and remove what an interrupted `git worktree add` leaves: an entry in the repository, and an empty folder."""

from __future__ import annotations

import os
import re
import shutil
from typing import TYPE_CHECKING

from fleet.world.git.pointers import open_regular
from fleet.world.process import ps

if TYPE_CHECKING:
    from collections.abc import Callable

    # Whether the reason of a worktree's lock is the caller's own.
    Ours = Callable[[str], bool]
    # Whether every git process that may be at work is visible here.
    Sees = Callable[[], bool]


def is_blank(path: str) -> bool:
    """Return whether a path is a folder in which nobody can have worked: it is empty, or has only a `.git` file."""
    try:
        names = os.listdir(path)
    except OSError:
        return False
    return not os.path.islink(path) and (names == [] or (names == [".git"] and os.path.isfile(f"{path}/.git")))


def is_filled(path: str) -> bool:
    """Return whether git has checked out all files of a worktree: the index, which git writes last, exists."""
    entry = entry_of(path)
    return bool(entry) and os.path.exists(f"{entry}/index")


def has_no_pointer(path: str) -> bool:
    """Return whether a worktree's `.git` file is missing or empty: an interrupted removal may have deleted it first.

    False for a `.git` folder or symlink that somebody made, so that it is not overwritten.
    """
    own = f"{path}/.git"
    return not os.path.lexists(own) or (os.path.isfile(own) and not os.path.islink(own) and os.path.getsize(own) == 0)


def repoint(git_dir: str, path: str) -> None:
    """Write the missing `.git` file of a worktree again, if exactly one entry in `git_dir` points to that worktree."""
    entries = [each for each in all_entries(git_dir) if _text(f"{each}/gitdir") and _is_entry_of(each, path)]
    if len(entries) == 1 and has_no_pointer(path):
        with open(f"{path}/.git", "w", encoding="utf-8") as file:
            file.write(f"gitdir: {entries[0]}\n")


def worktree_paths(git_dir: str) -> list[str]:
    """Return the paths of all linked worktrees of a repository, from git's entries; some may be gone."""
    return [os.path.dirname(told) for told in (_text(f"{entry}/gitdir") for entry in all_entries(git_dir)) if told]


def discard_entries(git_dir: str, path: str, ours: Ours, sees_everyone: Sees) -> None:
    """Remove git's entries that `entries_left` returns, and the worktree's folder.

    Only for a worktree in which nobody has worked. The folder stays when its `.git` file names another entry, or when
    it has files and none of the removed entries points to it.
    """
    entries = entries_left(git_dir, path, ours, sees_everyone)
    pointed = entry_of(path)
    theirs = pointed and os.path.exists(pointed) and not any(is_same_path(pointed, entry) for entry in entries)
    if not theirs and (is_blank(path) or (os.path.isdir(path) and any(_text(f"{each}/gitdir") for each in entries))):
        shutil.rmtree(path)
    for entry in entries:
        shutil.rmtree(entry)


def entries_left(git_dir: str, path: str, ours: Ours, sees_everyone: Sees) -> list[str]:
    """Return git's entries with our lock that point to this path, or are named after it and point nowhere yet.

    `ours` tells from the text of a lock whether it is ours, `sees_everyone` whether every process is visible here.
    """
    return [entry for entry in all_entries(git_dir) if _is_entry_ours(entry, path, ours, sees_everyone)]


def all_entries(git_dir: str) -> list[str]:
    """Return the paths of git's entries: the folders in which it keeps what it knows of each linked worktree."""
    try:
        return [f"{git_dir}/worktrees/{name}" for name in sorted(os.listdir(f"{git_dir}/worktrees"))]
    except OSError:
        return []


def _is_entry_of(entry: str, path: str) -> bool:
    """Return whether git's entry points to the worktree at this path."""
    return is_same_path(_text(f"{entry}/gitdir"), f"{path}/.git")


def _is_entry_ours(entry: str, path: str, ours: Ours, sees_everyone: Sees) -> bool:
    """Return whether git's entry has our lock, and points to this path or is named after it and points nowhere yet.

    An entry that is named after the path, points nowhere yet and has no lock counts, too, if it is proven that no git
    is still at work on it.
    """
    lock, told = _text(f"{entry}/locked"), _text(f"{entry}/gitdir")
    if told:
        return ours(lock) and _is_entry_of(entry, path)
    if not re.fullmatch(re.escape(os.path.basename(path)) + r"\d*", os.path.basename(entry)):
        return False
    repository = os.path.dirname(os.path.dirname(os.path.dirname(entry)))
    return ours(lock) or (lock == "" and sees_everyone() and ps.running("git", repository) == [])


def entry_of(path: str) -> str:
    """Return the path of git's own folder for the worktree at `path` (`.git/worktrees/NAME`), read from its `.git` file.

    "" when there is no such file.
    """
    return _text(f"{path}/.git").removeprefix("gitdir:").strip()


def is_same_path(one: str, other: str) -> bool:
    """Return whether two paths lead to the same place, when symbolic links are followed."""
    return os.path.realpath(one) == os.path.realpath(other)


def _text(path: str) -> str:
    """Return the text of a file without blanks around it; empty when it cannot be read."""
    try:
        with open(open_regular(path), encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""
