"""What a reviewer writes: free text, and lines of the form `FILE:LINE text` about one line of the work."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_PLACE = re.compile(r"(?P<file>[^\s:]+):(?P<line>[1-9]\d{0,8}):?\s+\S.*")


def quote_lines(comments: str, line_of: Callable[[str, int], str | None]) -> str:
    """The comments, each about a line followed by that line as it is now: numbers are wrong as soon as somebody mends something."""
    shown = []
    for line in comments.splitlines():
        shown.append(line)
        place = _PLACE.fullmatch(line.strip())
        code = line_of(place["file"], int(place["line"])) if place else None
        if code is not None:
            shown.append(f"    > {code.strip()}")
    return "\n".join(shown)
