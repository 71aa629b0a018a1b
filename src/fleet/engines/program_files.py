"""Find files in which programs keep their data, and read one value of such a file."""

from __future__ import annotations

import os

from fleet.fast import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def expand_path(path: str, env: Mapping[str, str] = os.environ) -> str:
    """Return a path with variables, and ~ at its beginning, replaced; a $NAME that is not set stays as it is.

    `${NAME:-~/x}` means the variable NAME, or ~/x when it is not set or empty.
    """
    moved = re.sub(r"\$\{(\w+):-([^}]*)\}", lambda match: env.get(match[1]) or match[2], path)
    filled = re.sub(r"\$(\w+)", lambda match: env.get(match[1], match[0]), moved)
    home = env.get("HOME", "")
    return home + filled[1:] if home and (filled == "~" or filled.startswith("~/")) else os.path.expanduser(filled)


def value_at(given: object, way: Sequence[str]) -> object:
    """Return the value that a list of keys leads to in nested tables; None when a key or a table is missing."""
    for part in way:
        if not isinstance(given, dict):
            return None
        given = given.get(part)
    return given
