"""Lock files of git that block other commands: a killed git leaves them behind."""

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
    """Run a git command; repeat it after each stale lock that blocked it has been removed."""
    done = run()
    for _ in range(_MOST):
        if done.ok or not _is_freed(done.err, near, sees_everyone, funnel):
            break
        done = run()
    return done


def _around(lock: str, near: str) -> list[str]:
    """Return where the git that holds this lock would run: one worktree for an index, else every worktree of the repository."""
    if lock.endswith("/index.lock"):
        return [near]
    place = os.path.dirname(lock)
    while place != "/" and not os.path.isdir(f"{place}/objects"):
        place = os.path.dirname(place)
    return [near, place, os.path.dirname(place), *leftovers.trees(place)]


def _is_freed(said: str, near: str, sees_everyone: Callable[[], bool], funnel: Funnel) -> bool:
    """Whether the lock that git complains of is gone after a moment, or was stale and is removed now.

    It is stale when no process has it open and no other git works near it. Where not all processes can be seen, it
    stays.
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
