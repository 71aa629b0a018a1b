"""Review comments: free text, with lines of the form `FILE:LINE text` about one line of the work."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_PLACE = re.compile(r"(?P<file>[^\s:]+):(?P<line>[1-9]\d{0,8}):?\s+\S.*")


def quote_lines(comments: str, line_of: Callable[[str, int], str | None]) -> str:
    """Return the comments, with the code quoted under each comment of the form `FILE:LINE text`.

    The quote keeps the comment clear after an edit has changed the line numbers.
    """
    shown = []
    for line in comments.splitlines():
        shown.append(line)
        place = _PLACE.fullmatch(line.strip())
        code = line_of(place["file"], int(place["line"])) if place else None
        if code is not None:
            shown.append(f"    > {code.strip()}")
    return "\n".join(shown)
