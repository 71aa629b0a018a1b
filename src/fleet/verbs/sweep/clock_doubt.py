"""Decide whether the wall clock can be trusted, before anything is deleted because of its age.

A clock that was set a year ahead makes everything look old. So each sweep stores the time. When more than 31 days have
passed since the last one, nothing is deleted by its age for a day: in that time a wrong clock can be corrected, and a
home that was unused for so long loses nothing by waiting a day.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.model.text.times import DAY, HOUR, age, clock
from fleet.world.home import paths

if TYPE_CHECKING:
    from fleet.verbs.context import Context

LONGEST_ABSENCE = 31 * DAY
_WAIT = DAY


def why_clock_doubted(context: Context) -> str:
    """Return why a sweep may not delete anything because of its age; "" when it may. Stores the time for the next call."""
    now, (seen, until) = context.world.clock.now(), _stored_times(context)
    if seen is None or now < seen:
        until = 0  # nothing is known, or the clock was set back: nothing looks older than it is
    elif now - seen > LONGEST_ABSENCE:
        until = now + _WAIT
    is_doubted = now < until
    if seen is None or abs(now - seen) > HOUR:
        context.world.files.publish(paths.CLOCK, f"{now} {until}".encode())
    jump = f"between two looks it went more than {age(LONGEST_ABSENCE)} ahead"
    return f"the clock may be wrong: {jump}; the next look after {clock(until)} trusts it" if is_doubted else ""


def _stored_times(context: Context) -> tuple[int | None, int]:
    """Return when the clock was last looked at and until when it is doubted, both in milliseconds.

    (None, 0) when that is not known; 0 means that it is not doubted.
    """
    try:
        seen, until = context.world.files.read(paths.CLOCK).split()
        return int(seen), int(until)
    except (OSError, ValueError):
        return None, 0
