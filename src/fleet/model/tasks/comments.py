"""Review comments: free text, with lines of the form `FILE:LINE text` about one line of the work."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fleet.store.queries import Verdict

_PLACE = re.compile(r"(?P<file>[^\s:]+):(?P<line>[1-9]\d{0,8}):?\s+\S.*")


def quote_lines(comments: str, line_of: Callable[[str, int], str | None]) -> str:
    """Return the comments with the code quoted below each comment of the form `FILE:LINE text`.

    `line_of` returns a line of a file, None when there is none. With the quote, the comment stays clear after an edit has
    changed the line numbers.
    """
    shown = []
    for line in comments.splitlines():
        shown.append(line)
        place = _PLACE.fullmatch(line.strip())
        code = line_of(place["file"], int(place["line"])) if place else None
        if code is not None:
            shown.append(f"    > {code.strip()}")
    return "\n".join(shown)


def comments_beside(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Return the verdicts that did not count but have comments on the present work of the task.

    They are about the same commit as the last verdict that counted, or were given after it; they are all, when none
    counted. `verdicts` has all verdicts of one task, oldest first.
    """
    last = max((number for number, each in enumerate(verdicts) if each.counted), default=-1)
    work = verdicts[last].work if last >= 0 else None
    return [each for number, each in enumerate(verdicts) if not each.counted and (number > last or each.work == work)]


def describe_beside(verdicts: Sequence[Verdict]) -> str:
    """Return, as text for the next agent, the comments that `comments_beside` finds; "" when there are none."""
    found = comments_beside(verdicts)
    return "".join(f"\n\nAlso said of this work, by {each.actor} ({each.verdict}):\n{each.comments}" for each in found)
