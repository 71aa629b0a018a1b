"""The trash of a home: files that were moved aside instead of deleted. They are renamed, never copied.

A `folder` of the trash is given by its path relative to the home.
"""

from __future__ import annotations

import os
import shutil
import stat
from typing import TYPE_CHECKING

from fleet import errors
from fleet.world.files import folders
from fleet.world.files.files import sync_folder
from fleet.world.home import paths

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fleet.world.world import World


def put_aside(world: World, tree: str, folder: str, names: Sequence[str]) -> None:
    """Move files and folders of a worktree, at the path `tree`, into a folder of the trash; safe to repeat.

    `names` are their paths in the worktree, at least one; missing ones were moved before. When a path in the folder is
    taken, a number is appended. Raise OSError when some cannot be moved.
    """
    for name in names:
        world.funnel.through("put aside", lambda: _move(f"{tree}/{name}", f"{world.home}/{folder}/{name}", world.home))  # noqa: B023
    sync_folder(f"{world.home}/{folder}")


def put_back(world: World, tree: str, folder: str) -> bool:
    """Move everything in a folder of the trash back into the worktree, except files whose path is taken there again.

    Return whether the folder is gone, because everything was moved. Nothing is moved when the worktree is gone. Safe to
    repeat.
    """
    path = f"{world.home}/{folder}"
    if os.path.isdir(path) and os.path.isdir(tree):
        world.funnel.through("put back", lambda: _merge_back(path, tree))
    return not os.path.lexists(path)


def is_there(world: World, folder: str) -> bool:
    """Return whether a folder of the trash contains anything."""
    path = f"{world.home}/{folder}"
    return os.path.isdir(path) and bool(os.listdir(path))


def count(world: World, folder: str) -> tuple[int, int]:
    """Return the number and the total bytes of the files in a folder of the trash."""
    found = [
        os.lstat(f"{here}/{name}")
        for here, folders, files in os.walk(f"{world.home}/{folder}")
        for name in (*folders, *files)
    ]
    kept = [each.st_size for each in found if stat.S_ISREG(each.st_mode) or stat.S_ISLNK(each.st_mode)]
    return len(kept), sum(kept)


def delete(world: World, folder: str) -> None:
    """Delete a folder of the trash for good, if it exists; raise Refused when it is not directly in the home's trash."""
    path = f"{world.home}/{folder}"
    if os.path.realpath(path) != f"{os.path.realpath(world.home)}/{paths.TRASH}/{os.path.basename(folder)}":
        raise errors.Refused(what=f"{path} is not in the trash of this home; it is left alone")
    if os.path.isdir(path):
        world.funnel.through("delete trash", lambda: _delete_folder(path))


def _move(path: str, to: str, home: str) -> None:
    """Move a file or folder to a path, or to a free one beside it; do nothing when it is missing."""
    if not os.path.lexists(path):
        return
    folders.make_private_folder(os.path.dirname(to), below=home)
    os.rename(path, _free_path(to))


def _free_path(path: str) -> str:
    """Return the path, or the path with a number appended if it is taken."""
    number, found = 2, path
    while os.path.lexists(found):
        found, number = f"{path}.{number}", number + 1
    return found


def _merge_back(path: str, tree: str) -> None:
    """Move the content of the folder `path` into `tree`, except files that exist there; remove emptied folders."""
    for name in os.listdir(path):
        here, there = f"{path}/{name}", f"{tree}/{name}"
        if not os.path.lexists(there):
            os.rename(here, there)
        elif os.path.isdir(here) and not os.path.islink(here) and os.path.isdir(there) and not os.path.islink(there):
            _merge_back(here, there)
    if not os.listdir(path):
        os.rmdir(path)


def _delete_folder(path: str) -> None:
    """Delete a folder with everything in it, also folders without write permission."""
    for here, names, _files in os.walk(path):
        for each in (here, *(f"{here}/{name}" for name in names)):
            if not os.path.islink(each):
                os.chmod(each, stat.S_IRWXU)  # a folder that may not be written to cannot be emptied
    shutil.rmtree(path)
