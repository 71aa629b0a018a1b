"""Times as people write them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo

from fleet.errors import BadTime
from fleet.model.times import SECOND, duration

_DURATION = re.compile(r"(\d{1,6})([smhdw])")
_CLOCK = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")


def moment(given: str, *, now: int, local: tzinfo | None = None, back: bool = False) -> int:
    """A time of day, a date, an ISO time, or a duration from now (`back`: before now)."""
    text = given.strip()
    if _DURATION.fullmatch(text):
        return now - duration(text) if back else now + duration(text)
    today = datetime.fromtimestamp(now / SECOND, tz=local or UTC)
    clock = _CLOCK.fullmatch(text)
    if clock:
        return _next_or_last(today, hour=int(clock[1]), minute=int(clock[2]), back=back)
    return _stamp(_parsed(text, today.tzinfo))


def _next_or_last(today: datetime, *, hour: int, minute: int, back: bool) -> int:
    found = today.replace(hour=hour, minute=minute, second=0, microsecond=0)
    if back and found > today:
        found -= timedelta(days=1)
    if not back and found < today:
        found += timedelta(days=1)
    return _stamp(found)


def _parsed(text: str, local: tzinfo | None) -> datetime:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise BadTime(given=text) from None
    return found if found.tzinfo else found.replace(tzinfo=local)


def _stamp(found: datetime) -> int:
    return round(found.timestamp() * SECOND)
