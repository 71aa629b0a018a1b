"""Find the new lines in a text that grows, such as the output of an agent. Pure."""

from __future__ import annotations

# How many of the last known lines are searched for in a text whose beginning is lost.
_ANCHOR = 3


def new_lines(before: list[str], now: list[str]) -> list[str]:
    """Return the lines that were added to a text since an earlier look at it.

    When `now` does not begin with `before` (a terminal forgets its oldest lines, programs redraw their screens), the
    last known lines are searched for in `now`; if they are not found, everything from the first difference on counts as
    new.
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
