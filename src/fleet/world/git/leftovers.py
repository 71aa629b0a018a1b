"""What a `git worktree add` leaves that was killed before it was through: an entry of the repository, a folder with nothing in it.

git lists such an entry as broken or not at all, or lists nothing any more because of it; and as it is locked, never prunes it.
"""

from __future__ import annotations

import os
import re
import shutil
from typing import TYPE_CHECKING

from fleet.world.process import ps

if TYPE_CHECKING:
    from collections.abc import Callable

    # Whether the text of a lock is that of whoever asks.
    Ours = Callable[[str], bool]
    # Whether every git that may be at work can be seen from here.
    Sees = Callable[[], bool]


def is_blank(path: str) -> bool:
    """Whether there is a folder in which nobody can have worked: nothing is in it but, perhaps, git's pointer to its entry."""
    try:
        names = os.listdir(path)
    except OSError:
        return False
    return not os.path.islink(path) and (names == [] or (names == [".git"] and os.path.isfile(f"{path}/.git")))


def is_filled(path: str) -> bool:
    """Whether git has checked out the files of a worktree: its index is written when all of them are there."""
    entry = _entry_of(path)
    return bool(entry) and os.path.exists(f"{entry}/index")


def has_no_pointer(path: str) -> bool:
    """Whether a tree does not say which entry of its repository it belongs to: a removal may take that away first.

    A `.git` folder or link that somebody has made there is not overwritten.
    """
    own = f"{path}/.git"
    return not os.path.lexists(own) or (os.path.isfile(own) and not os.path.islink(own) and os.path.getsize(own) == 0)


def repoint(git_dir: str, path: str) -> None:
    """Say it again, for a tree whose entry is there and names it."""
    entries = [each for each in _entries(git_dir) if _text(f"{each}/gitdir") and _names(each, path)]
    if len(entries) == 1 and has_no_pointer(path):
        with open(f"{path}/.git", "w", encoding="utf-8") as file:
            file.write(f"gitdir: {entries[0]}\n")


def trees(git_dir: str) -> list[str]:
    """The paths of all worktrees that a repository has entries of."""
    return [os.path.dirname(told) for told in (_text(f"{entry}/gitdir") for entry in _entries(git_dir)) if told]


def has_submodules(path: str) -> bool:
    """Whether submodules were made in a tree. Their commits are kept with the tree's entry, and would go with it."""
    return os.path.isdir(f"{_entry_of(path)}/modules")


def discard(git_dir: str, path: str, ours: Ours, sees_everyone: Sees) -> None:
    """Remove what bears our lock and was to be the worktree at this path. Only for one that nobody ever worked in."""
    entries = found(git_dir, path, ours, sees_everyone)
    pointed = _entry_of(path)
    theirs = pointed and os.path.exists(pointed) and not any(_is_same(pointed, entry) for entry in entries)
    if not theirs and (is_blank(path) or (os.path.isdir(path) and any(_text(f"{each}/gitdir") for each in entries))):
        shutil.rmtree(path)
    for entry in entries:
        shutil.rmtree(entry)


def found(git_dir: str, path: str, ours: Ours, sees_everyone: Sees) -> list[str]:
    """Entries that point to this path under our lock; and such as were to be named after it and point nowhere yet."""
    return [entry for entry in _entries(git_dir) if _is_ours(entry, path, ours, sees_everyone)]


def _entries(git_dir: str) -> list[str]:
    try:
        return [f"{git_dir}/worktrees/{name}" for name in sorted(os.listdir(f"{git_dir}/worktrees"))]
    except OSError:
        return []


def _names(entry: str, path: str) -> bool:
    return _is_same(_text(f"{entry}/gitdir"), f"{path}/.git")


def _is_ours(entry: str, path: str, ours: Ours, sees_everyone: Sees) -> bool:
    lock, told = _text(f"{entry}/locked"), _text(f"{entry}/gitdir")
    if told:
        return ours(lock) and _names(entry, path)
    if not re.fullmatch(re.escape(os.path.basename(path)) + r"\d*", os.path.basename(entry)):
        return False
    repository = os.path.dirname(os.path.dirname(os.path.dirname(entry)))
    return ours(lock) or (lock == "" and sees_everyone() and ps.running("git", repository) == [])


def _entry_of(path: str) -> str:
    """What git knows of the worktree at this path, as the tree itself says; empty when it does not."""
    return _text(f"{path}/.git").removeprefix("gitdir:").strip()


def _is_same(one: str, other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""
