"""Follow a text that grows, such as the output of an agent: which lines are new since the last look. Pure."""

from __future__ import annotations

# How many lines of the earlier text are looked for in a later one whose beginning is lost.
_ANCHOR = 3


def new_lines(before: list[str], now: list[str]) -> list[str]:
    """Return the lines of a text that came after those of an earlier look at it.

    A terminal forgets its oldest lines, and programs draw their screen anew. Then the last known lines are looked for; if
    they are not there, everything from the first difference on is new.
    """
    same = _common_beginning(before, now)
    if same == len(before):
        return now[same:]
    anchor = before[-_ANCHOR:]
    for end in range(len(now), len(anchor) - 1, -1):
        if now[end - len(anchor) : end] == anchor:
            return now[end:]
    return now[same:]


def _common_beginning(before: list[str], now: list[str]) -> int:
    """Return how many lines at the beginning of two texts are the same."""
    count = 0
    for one, other in zip(before, now, strict=False):
        if one != other:
            break
        count += 1
    return count
