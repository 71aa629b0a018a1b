"""Find the fleet home, the directory of one operator, and the worktrees and checkouts that paths lie in."""

from __future__ import annotations

import os

from fleet import errors
from fleet.model import DEFAULT_HOME, FLEET_HOME
from fleet.world.home import paths
from fleet.world.process import surroundings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.world.funnel import Funnel

_PRIVATE = 0o700
_PROJECTS = f"/{paths.PROJECTS}/"


def home_path() -> str:
    """Return $FLEET_HOME, or else ~/.fleet, as an absolute path with symlinks resolved, so that one home has one path.

    Raise HomeUnusable when $FLEET_HOME is relative and the current directory was removed.
    """
    told = os.environ.get(FLEET_HOME) or os.path.expanduser(DEFAULT_HOME)
    if not os.path.isabs(told) and directory_of_asker() is None:
        raise errors.HomeUnusable(path=told, why="the current directory was removed")
    return os.path.realpath(told)


def directory_of_asker() -> str | None:
    """Return the caller's current directory with symlinks resolved; None when it was removed or is unknown."""
    return surroundings.directory()


def ready_home(path: str, funnel: Funnel, *, make: bool = True) -> str:
    """Return the path of the home, created if missing; raise HomeUnusable when it cannot be used.

    Without `make`, a missing home is not created: an agent's home that is missing was moved or deleted.
    """
    if not make and not os.path.lexists(path):
        raise errors.HomeUnusable(path=path, why="it is not there")
    try:
        if not os.path.isdir(path):
            funnel.through("make home", lambda: os.makedirs(path, mode=_PRIVATE, exist_ok=True))
    except FileExistsError:
        raise errors.HomeUnusable(path=path, why="it is not a directory") from None
    except OSError as error:
        raise errors.HomeUnusable(path=path, why=str(error.strerror).lower()) from None
    status = os.stat(path)
    if status.st_uid != os.geteuid():
        raise errors.HomeUnusable(path=path, why=f"it belongs to user {status.st_uid}")
    if not os.access(path, os.W_OK | os.X_OK):
        raise errors.HomeUnusable(path=path, why="it cannot be written to")
    return path


def checkout_of(path: str) -> str | None:
    """Return the main checkout of the linked worktree at this path; None when no linked worktree is there.

    None also for a worktree of a bare repository.
    """
    try:
        with open(f"{path}/.git", encoding="utf-8", errors="replace") as pointer:
            entry = pointer.read().removeprefix("gitdir:").strip()
    except OSError:
        return None
    top, found, _ = entry.partition("/.git/worktrees/")
    return os.path.realpath(os.path.join(path, top)) if found else None


def worktree_at(path: str) -> tuple[str, str] | None:
    """Return (project, slug) of the fleet worktree that a path lies in, whatever its home; None when it lies in none."""
    head, found, tail = path.partition(_PROJECTS)
    while found:
        parts = tail.split("/", 3)
        in_worktree = len(parts) > 2 and parts[1] == paths.WORKTREES  # noqa: PLR2004
        if in_worktree and os.path.isdir(f"{head}/{paths.project_folder(parts[0], paths.WORKERS)}"):
            return parts[0], parts[2]
        more, found, tail = tail.partition(_PROJECTS)
        head = f"{head}{_PROJECTS}{more}"
    return None
