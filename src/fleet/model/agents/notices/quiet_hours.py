"""Quiet hours: the part of each day, in the machine's local time, in which no notices are sent."""

from __future__ import annotations

import time

from fleet.model.text.times import SECOND

_HOURS, _MINUTES = 24, 60
_DIGITS = 2


def parsed(given: object) -> tuple[int, int] | None:
    """Return the begin and the end of quiet hours like "22:00-07:00" in minutes since midnight; None for any other value."""
    first, dash, last = given.partition("-") if isinstance(given, str) else ("", "", "")
    begin, end = _minute_of_day(first.strip()), _minute_of_day(last.strip())
    if not dash or begin is None or end is None or begin == end:
        return None
    return begin, end


def is_quiet(window: str | None, at: int) -> bool:
    """Return whether a time, in milliseconds, lies in the quiet hours `window`; False when that is None or not valid.

    A window such as 22:00-07:00 may span midnight. Its end, 07:00 itself, is not quiet.
    """
    found = parsed(window)
    if found is None:
        return False
    local = time.localtime(at // SECOND)
    now, (begin, end) = local.tm_hour * _MINUTES + local.tm_min, found
    return begin <= now < end if begin < end else now >= begin or now < end


def _minute_of_day(given: str) -> int | None:
    """Return the minutes since midnight of a time like "22:00"; None for any other text."""
    hour, colon, minute = given.partition(":")
    if not colon or not (_is_number(hour) and _is_number(minute) and len(minute) == _DIGITS):
        return None
    return int(hour) * _MINUTES + int(minute) if int(hour) < _HOURS and int(minute) < _MINUTES else None


def _is_number(given: str) -> bool:
    return given.isascii() and given.isdigit() and len(given) <= _DIGITS
