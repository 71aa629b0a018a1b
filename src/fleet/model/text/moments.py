"""Parse times as people write them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo

from fleet import errors
from fleet.model.text.times import LAST, SECOND, duration

_DURATION = re.compile(r"(\d{1,6})([smhdw])", re.ASCII)
_CLOCK = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)", re.ASCII)
_FORMS = "30m, 2h, 3d (from now), 18:00, 2026-11-15 or 2026-11-15T18:00Z"


def moment(given: str, *, now: int, local: tzinfo | None = UTC, back: bool = False) -> int:
    """Return the time, in milliseconds, that a text names: a time of day, a date, an ISO time, or a duration from `now`.

    With `back` a time of day or a duration lies before now. A time without a zone is in `local`; None is the machine's
    zone, with the summer time of that day. Raise BadTime when the text is none of these, or names a time before 1970 or
    after 9999.
    """
    text = given.strip()
    if _DURATION.fullmatch(text):
        return _checked_range(text, now - duration(text) if back else now + duration(text))
    clock = _CLOCK.fullmatch(text)
    if clock:
        today = datetime.fromtimestamp(now / SECOND, tz=local)
        return _milliseconds_of(text, _next_or_last(today, hour=int(clock[1]), minute=int(clock[2]), back=back))
    return _milliseconds_of(text, _parse_date(text, local))


def _next_or_last(today: datetime, *, hour: int, minute: int, back: bool) -> datetime:
    """Return the next moment with this hour and minute; with `back`, the last one. `today` itself counts as both."""
    found = today.replace(hour=hour, minute=minute, second=0, microsecond=0)
    if back and found > today:
        return found - timedelta(days=1)
    if not back and found < today:
        return found + timedelta(days=1)
    return found


def _parse_date(text: str, local: tzinfo | None) -> datetime:
    """Return the datetime of an ISO text, in the zone `local` unless the text names one; raise BadTime for any other text."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise errors.BadTime(given=text, what="a time", forms=_FORMS) from None
    return found if found.tzinfo else found.replace(tzinfo=local)


def _milliseconds_of(text: str, found: datetime) -> int:
    """Return the milliseconds of a datetime; raise BadTime when it is not between 1970 and 9999."""
    try:
        at = round(found.timestamp() * SECOND)
    except (OverflowError, ValueError):  # a year that the machine's own zone does not reach
        at = -1
    return _checked_range(text, at)


def _checked_range(text: str, at: int) -> int:
    """Return a time in milliseconds; raise BadTime when it is not between 1970 and 9999."""
    if not 0 <= at <= LAST:
        raise errors.BadTime(given=text, what="a time between 1970 and 9999", forms=_FORMS)
    return at
