"""Check that the `.git` file of a fleet worktree still points to git's entry of that worktree; agents can rewrite it."""

from __future__ import annotations

import os
import stat

from fleet.world.home import paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    # Whether a directory is the git directory of a repository that fleet knows.
    Knows = Callable[[str], bool]

REMADE = "its .git was made anew or points elsewhere"
# Below the folder of the projects: PROJECT, one of these, and a SLUG or a DISPATCH.
_FOLDERS = frozenset({paths.WORKTREES, paths.MERGES})
_DEPTH = 3
_LONGEST = 8_192


class NotRegular(OSError):
    """Something that is neither a file nor a folder is where git keeps a file."""


class WorktreePaths:
    """A worktree, git's entry of it, and the git directory of its repository."""

    __slots__ = ("common", "entry", "tree")

    def __init__(self, *, tree: str, entry: str, common: str) -> None:
        self.tree = tree
        self.entry = entry
        self.common = common


def tree_of(home: str, path: str) -> str:
    """Return the worktree of this home, of a task or for merging, that a path lies in; empty when it lies in none.

    A path in a person's checkout lies in none.
    """
    for top, place in ((home, os.path.abspath(path)), (os.path.realpath(home), os.path.realpath(path))):
        parts = place.removeprefix(f"{top}/{paths.PROJECTS}/").split("/") if home else []
        if place.startswith(f"{top}/{paths.PROJECTS}/") and len(parts) >= _DEPTH and parts[1] in _FOLDERS:
            return "/".join([top, paths.PROJECTS, *parts[:_DEPTH]])
    return ""


def read(tree: str, knows: Knows) -> WorktreePaths | None:
    """Return the entry and the repository to which a worktree's `.git` file points.

    None when the file is not as git wrote it, or when `knows` says that the git directory it leads to is no project's.
    """
    told = _line_of_file(f"{tree}/.git")
    if not told.startswith("gitdir:"):
        return None
    entry = os.path.realpath(os.path.join(tree, told.removeprefix("gitdir:").strip()))
    folder, _name = os.path.split(entry)
    place = WorktreePaths(tree=tree, entry=entry, common=os.path.dirname(folder))
    inside = f"{entry}/".startswith(f"{os.path.realpath(tree)}/")
    if inside or os.path.basename(folder) != "worktrees" or not _points_back(place) or not knows(place.common):
        return None
    return place


def _points_back(place: WorktreePaths) -> bool:
    """Return whether git's entry of a worktree names that worktree and its repository."""
    back, shared = _line_of_file(f"{place.entry}/gitdir"), _line_of_file(f"{place.entry}/commondir")
    if not back or not shared:
        return False
    mine = os.path.realpath(os.path.join(place.entry, back)) == os.path.realpath(f"{place.tree}/.git")
    return mine and os.path.realpath(os.path.join(place.entry, shared)) == place.common


def open_regular(path: str, *, follow: bool = True) -> int:
    """Open a regular file to read it, and return its descriptor.

    Raise IsADirectoryError for a folder, NotRegular for a pipe or device, OSError when it cannot be opened. It never
    blocks on a pipe that an agent made. Without `follow`, raise OSError for a symbolic link, because the link may lead
    to a file that the agent cannot read.
    """
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW))
    mode = os.fstat(fd).st_mode
    if stat.S_ISREG(mode):
        return fd
    os.close(fd)
    raise IsADirectoryError(path) if stat.S_ISDIR(mode) else NotRegular(path)


def _line_of_file(path: str) -> str:
    """Return the text of a regular file, without newlines at its ends, such as the one line of a `.git` file.

    At most the first 8192 bytes are read. '' when the path is not a regular file, is a symbolic link, or cannot be
    read.
    """
    try:
        fd = open_regular(path, follow=False)
    except OSError:
        return ""
    try:
        said = os.read(fd, _LONGEST)
    except OSError:
        return ""
    finally:
        os.close(fd)
    return os.fsdecode(said).strip("\n")
