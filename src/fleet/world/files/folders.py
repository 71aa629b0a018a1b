"""Folders of the fleet home: nobody else may look into any of them."""

from __future__ import annotations

import os

_PRIVATE = 0o700


def make(path: str) -> None:
    """A folder and those above it, each private. Those that are there stay as they are."""
    if not path or os.path.isdir(path):
        return
    make(os.path.dirname(path))
    try:
        os.mkdir(path, _PRIVATE)
    except FileExistsError:
        if not os.path.isdir(path):
            raise
