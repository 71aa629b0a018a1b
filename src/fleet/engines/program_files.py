"""Where programs keep what they know, and the way to one value in it."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def expand_path(path: str) -> str:
    """A path with ~ and variables filled in, and ${NAME:-~/place}: where a variable moves it, else the place."""
    moved = re.sub(r"\$\{(\w+):-([^}]*)\}", lambda match: os.environ.get(match[1]) or match[2], path)
    return os.path.expanduser(os.path.expandvars(moved))


def value_at(given: object, way: Sequence[str]) -> object:
    """What is found that way into tables within tables; nothing where one is missing."""
    for part in way:
        if not isinstance(given, dict):
            return None
        given = given.get(part)
    return given
