"""Colour a diff for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.api.views.diffs import lines_of_diff
from fleet.surfaces.cli.ui import terminal

if TYPE_CHECKING:
    from collections.abc import Iterator

_COLOURS = {"added": "green", "removed": "red", "hunk": "cyan", "head": "bold", "same": ""}
# The lines of kind "head" that have its colour.
_HEADS = ("+++ ", "--- ", "diff ")


def diff(text: str) -> Iterator[str]:
    """Yield the lines of a diff in fleet's own colours.

    git's colours are not used: they could not be told from colour sequences that the files themselves contain.
    """
    for kind, line in lines_of_diff(text):
        is_plain = kind == "head" and not line.startswith(_HEADS)
        yield f"{terminal.paint(line, '' if is_plain else _COLOURS[kind])}\n"
