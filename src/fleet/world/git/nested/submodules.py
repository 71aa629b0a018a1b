"""The submodules of a worktree: those that its index records, and the folder in which git keeps their repositories.

git keeps the repository of a submodule of a linked worktree in git's entry of that worktree, below `modules`. The
user's checkout has its own, below `modules` of the repository.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from fleet import errors
from fleet.world.git.git import error_line
from fleet.world.git.worktrees import leftovers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fleet.world.git.worktrees.worktree_status import RunGit, TreeStatus

_GITLINK = "160000"
# For commands that need no files, in the repository of a submodule: its configuration names a folder that may be gone.
WITHOUT_FILES = ("--work-tree=/", "-c", "protocol.allow=never")


class Submodule(NamedTuple):
    """A submodule as a worktree's index records it."""

    name: str
    path: str
    commit: str


def recorded(ask: RunGit, path: str) -> list[Submodule]:
    """Return the submodules that both a worktree's index and `.gitmodules` record; raise GitRefused when git fails.

    A submodule whose name is not safe as a part of a path is left out.
    """
    file = f"{path}/.gitmodules"
    if not os.path.isfile(file) or os.path.islink(file):
        return []
    done = ask("config", path, "--file", file, "-z", "--get-regexp", r"^submodule\..*\.path$")
    if done.status == 1:
        return []
    names = {place: key[len("submodule.") : -len(".path")] for key, place in _lines_as_pairs(done.out)}
    index = ask("ls-files", path, "--stage", "-z", "--", *(f":(literal){place}" for place in names))
    if not done.ok or not index.ok:
        raise errors.GitRefused(what=f"list the submodules of {path}", why=error_line(index if done.ok else done))
    links = (line.partition("\t")[::2] for line in index.out.split("\0") if line.startswith(_GITLINK))
    found = (Submodule(names.get(place, ""), place, facts.split()[1]) for facts, place in links)
    return [each for each in found if _is_safe_name(each.name)]


def modules_of(tree: str) -> str:
    """Return the folder in which git keeps the repositories of a worktree's submodules; it need not exist.

    Empty when the worktree's `.git` file cannot be read.
    """
    entry = leftovers.entry_of(tree)
    return entry and f"{entry}/modules"


def repositories(modules: str) -> list[str]:
    """Return the paths of all submodules' repositories in a `modules` folder, nested ones too; [] when it is missing.

    Raise OSError when it cannot be read.
    """
    return sorted(_repositories_below(modules))


def is_submodule(tree: str, name: str) -> bool:
    """Return whether a folder of a worktree is a submodule whose repository is in git's entry of that worktree."""
    pointer, entry = f"{tree}/{name}/.git", leftovers.entry_of(tree)
    if not entry or os.path.islink(pointer) or not os.path.isfile(pointer):
        return False
    place = os.path.realpath(os.path.join(tree, name, leftovers.entry_of(f"{tree}/{name}")))
    return place.startswith(f"{os.path.realpath(entry)}/modules/")


def repositories_among(found: TreeStatus, path: str) -> list[str]:
    """Return the changed entries of a worktree's status that are repositories, submodules among them.

    `found` is that status, `path` the worktree.
    """
    return [name.rstrip("/") for _code, name in found.changed if os.path.lexists(f"{path}/{name.rstrip('/')}/.git")]


def other_repositories_among(found: TreeStatus, tree: str) -> list[str]:
    """Return the changed entries of a worktree's status that are repositories but not submodules.

    A commit cannot contain their files. `found` is the status of the worktree `tree`.
    """
    return [name for name in repositories_among(found, tree) if not is_submodule(tree, name)]


def _repositories_below(folder: str) -> Iterator[str]:
    """Yield the paths of all submodule repositories in a folder `modules` of a git directory, nested submodules included.

    A repository is a folder that has `objects` and `HEAD`. Nothing is yielded when the folder does not exist.
    """
    if not os.path.isdir(folder):
        return
    with os.scandir(folder) as entries:
        places = [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
    for place in places:
        if os.path.isdir(f"{place}/objects") and os.path.lexists(f"{place}/HEAD"):
            yield place
            yield from _repositories_below(f"{place}/modules")
        else:
            yield from _repositories_below(place)  # a name with a slash is a folder in a folder


def _lines_as_pairs(text: str) -> Iterator[tuple[str, str]]:
    """Yield key and value of each setting that `git config -z` printed, values without a slash at the end."""
    for line in text.split("\0"):
        key, _, value = line.partition("\n")
        if value:
            yield key, value.rstrip("/")


def _is_safe_name(name: str) -> bool:
    """Return whether the name of a submodule is safe as a part of a path: not empty, nor leading out of the folder."""
    return bool(name) and not name.startswith("/") and ".." not in name.split("/")
