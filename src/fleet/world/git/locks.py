"""Remove git's lock files that a killed git left and that block other commands."""

from __future__ import annotations

import contextlib
import os
import re
from glob import escape as glob_escape
from glob import glob
from time import sleep
from typing import TYPE_CHECKING

from fleet.model.branches import head_ref
from fleet.world.git.worktrees import leftovers
from fleet.world.process import ps

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.world.funnel import Funnel
    from fleet.world.git.pointers import WorktreePaths
    from fleet.world.process.programs import Done

_BLOCKED = re.compile(r"Unable to create '([^'\n]+\.lock)': File exists")
# How many seconds to wait before a lock is judged.
_SETTLING = 0.2
_OF_WORKTREE = ("index.lock", "HEAD.lock")
_MOST = 4  # how many locks may block one command: index, head, branch, packed branches


def run_past_stale_locks(run: Callable[[], Done], near: str, sees_everyone: Callable[[], bool], funnel: Funnel) -> Done:
    """Run a git command; repeat it after removing each stale lock that blocked it, up to four. Return the last result.

    `near` is the worktree or repository in which the command runs, `sees_everyone` tells whether every process that may
    hold a lock is visible here.
    """
    done = run()
    for _ in range(_MOST):
        if done.ok or not _free_named_lock(done.err, near, sees_everyone, funnel):
            break
        done = run()
    return done


def remove_stale_locks(
    place: WorktreePaths, branch: str, near: str, sees_everyone: Callable[[], bool], funnel: Funnel
) -> list[str]:
    """Remove the locks that a killed git left for a worktree and its branch; return the paths of locks that are gone.

    `near` is the path of the worktree; `sees_everyone` tells whether every process that may hold a lock is visible
    here. A lock that a process may hold stays.
    """
    names = [f"{place.entry}/{name}" for name in _OF_WORKTREE] + [f"{place.common}/{head_ref(branch)}.lock"]
    inside = glob(f"{glob_escape(place.entry)}/modules/**/index.lock", recursive=True)
    there = [lock for lock in (*names, *inside) if os.path.isfile(lock)]
    return [lock for lock in there if _remove_if_stale(lock, near, sees_everyone, funnel)]


def _folders_near(lock: str, near: str) -> list[str]:
    """Return the folders in which a git that holds this lock would run.

    For the lock of an index that is the worktree `near` alone; else also the repository and all its worktrees.
    """
    if lock.endswith("/index.lock"):
        return [near]
    place = os.path.dirname(lock)
    while place != "/" and not os.path.isdir(f"{place}/objects"):
        place = os.path.dirname(place)
    return [near, place, os.path.dirname(place), *leftovers.worktree_paths(place)]


def _free_named_lock(said: str, near: str, sees_everyone: Callable[[], bool], funnel: Funnel) -> bool:
    """Remove the lock file that git's error message (`said`) names, if it is stale. `_remove_if_stale` says when it is.

    `near` is the folder that git worked in; `sees_everyone` tells whether this process sees all processes of the machine.
    Return whether the file is gone; False when the message names none.
    """
    found = _BLOCKED.search(said)
    return found is not None and _remove_if_stale(found[1], near, sees_everyone, funnel)


def _remove_if_stale(lock: str, near: str, sees_everyone: Callable[[], bool], funnel: Funnel) -> bool:
    """Wait a moment, then remove a lock of git if it is stale; return whether it is gone.

    It is stale when no process has it open and no other git works nearby. Where not all processes can be seen, it
    stays.
    """
    sleep(_SETTLING)  # a living git closes it a moment before it renames it
    if not os.path.exists(lock):
        return True
    if not sees_everyone() or ps.holders(lock) != [] or ps.running("git", *_folders_near(lock, near)) != []:
        return False
    with contextlib.suppress(FileNotFoundError):
        funnel.through("remove lock of git", lambda: os.unlink(lock))
    return True
