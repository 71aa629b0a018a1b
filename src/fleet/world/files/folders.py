"""Create folders that only their owner can open, in the fleet home and outside it."""

from __future__ import annotations

import os

_PRIVATE = 0o700


def make_private_folder(path: str, *, below: str) -> None:
    """Create a folder and the missing folders between it and the folder `below`, all private.

    Existing folders stay unchanged. `below` is never created. It is the home or lies in it, because a process that works
    in a home that was moved away must not create the home again; for a folder outside the home it is "/". Raise
    FileNotFoundError when `below` is missing, FileExistsError when something else is in the place of a folder.
    """
    if not path or path == below or os.path.isdir(path):
        return
    make_private_folder(os.path.dirname(path), below=below)
    try:
        os.mkdir(path, _PRIVATE)
    except FileExistsError:
        if not os.path.isdir(path):
            raise


def blocking_file(path: str) -> str:
    """Return the path of a file that is where this folder, or one above it, should be; empty when there is none.

    `path` is absolute. A symbolic link that leads nowhere counts as a file.
    """
    while not os.path.lexists(path):
        path = os.path.dirname(path)
    return "" if os.path.isdir(path) else path
