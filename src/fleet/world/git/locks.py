"""Locks of git's that are in the way. A git that was killed leaves its own behind, and every later one stumbles over it."""

from __future__ import annotations

import contextlib
import os
import re
from time import sleep
from typing import TYPE_CHECKING

from fleet.world.git import leftovers
from fleet.world.process import ps

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.world.funnel import Funnel
    from fleet.world.process.programs import Done

_BLOCKED = re.compile(r"Unable to create '([^'\n]+\.lock)': File exists")
_SETTLING = 0.2
_MOST = 4  # index, head, branch, packed branches


def past(run: Callable[[], Done], near: str, sees_everyone: Callable[[], bool], funnel: Funnel) -> Done:
    """Run a git; once more for each lock that was in its way and is gone."""
    done = run()
    for _ in range(_MOST):
        if done.ok or not _is_freed(done.err, near, sees_everyone, funnel):
            break
        done = run()
    return done


def _around(lock: str, near: str) -> list[str]:
    """Where a git would be that holds a lock: an index is of one tree, anything else of the repository and all its trees."""
    if lock.endswith("/index.lock"):
        return [near]
    place = os.path.dirname(lock)
    while place != "/" and not os.path.isdir(f"{place}/objects"):
        place = os.path.dirname(place)
    return [near, place, os.path.dirname(place), *leftovers.trees(place)]


def _is_freed(said: str, near: str, sees_everyone: Callable[[], bool], funnel: Funnel) -> bool:
    """After a moment. A lock that stays goes only if no process has it open, and no other git is at work near it.

    From a room in which not everybody can be seen who may hold it, that is not known, and it stays.
    """
    found = _BLOCKED.search(said)
    if found is None:
        return False
    sleep(_SETTLING)  # a living git closes it a moment before it renames it
    lock = found[1]
    if not os.path.exists(lock):
        return True
    if not sees_everyone() or ps.holders(lock) != [] or ps.running("git", *_around(lock, near)) != []:
        return False
    with contextlib.suppress(FileNotFoundError):
        funnel.through("remove lock of git", lambda: os.unlink(lock))
    return True
