"""Parse and show times and durations. A time is whole milliseconds since 1970, in UTC."""

from __future__ import annotations

from time import gmtime, strftime

from fleet import errors

SECOND = 1_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
UNITS = {"s": SECOND, "m": MINUTE, "h": HOUR, "d": DAY, "w": 7 * DAY}
_DIGITS = 6
_FEBRUARY = 2
_DAYS_TO_1970 = 719_468
_FORMS = "30s, 45m, 2h, 3d or 1w"

# The last millisecond of the year 9999, so that a year has four digits.
LAST = 253_402_300_799_999


def iso(at: int) -> str:
    """Return a time in milliseconds as text like 2026-11-15T03:04:05.678Z."""
    return strftime("%Y-%m-%dT%H:%M:%S", gmtime(at // SECOND)) + f".{at % SECOND:03d}Z"


def iso_or_none(at: int | None) -> str | None:
    """Return a time in milliseconds as text like 2026-11-15T03:04:05.678Z; None for None."""
    return None if at is None else iso(at)


def since_epoch(told: str) -> int:
    """Return the milliseconds of a text that `iso` wrote. Does not use the module `datetime`, which is slow to import."""
    year, month, day = int(told[:4]), int(told[5:7]), int(told[8:10])
    hour, minute, second, rest = int(told[11:13]), int(told[14:16]), int(told[17:19]), int(told[20:23])
    # Count the year from March, so that a leap day is its last day.
    year, month = (year, month - 3) if month > _FEBRUARY else (year - 1, month + 9)
    days = 365 * year + year // 4 - year // 100 + year // 400 + (153 * month + 2) // 5 + day - 1 - _DAYS_TO_1970
    return days * DAY + hour * HOUR + minute * MINUTE + second * SECOND + rest


def since_epoch_or_none(told: str | None) -> int | None:
    """Return the milliseconds of a time that `iso` wrote; None for None."""
    return None if told is None else since_epoch(told)


def utc(told: str) -> str:
    """Return an ISO time in the form of all texts for people: 2026-11-15 03:04:05 UTC."""
    return f"{told[:10]} {told[11:19]} UTC"


def time_of_day(at: str) -> str:
    """Return only the time of day of an ISO time: 03:04:05 UTC."""
    return f"{at[11:19]} UTC"


def minute_of_day(at: int) -> str:
    """Return the hour and minute of a time in milliseconds, in UTC: 03:04."""
    return iso(at)[11:16]


def clock(at: int) -> str:
    """Return a time in milliseconds in the form of all texts for people: 2026-11-15 03:04:05 UTC."""
    return utc(iso(at))


def age(milliseconds: int) -> str:
    """Return a duration in milliseconds as text in its largest unit: 12s, 5m, 3h, 2d."""
    for size, letter in ((DAY, "d"), (HOUR, "h"), (MINUTE, "m")):
        if milliseconds >= size:
            return f"{milliseconds // size}{letter}"
    return f"{max(milliseconds, 0) // SECOND}s"


def duration(given: str) -> int:
    """Return the milliseconds of a duration like `90s`, `30m`, `2h`, `3d` or `1w`; raise BadTime for any other text.

    The number has 6 digits at most, and may be 0.
    """
    number, unit = given.strip()[:-1], given.strip()[-1:]
    if not (number.isascii() and number.isdigit() and len(number) <= _DIGITS and unit in UNITS):
        raise errors.BadTime(given=given, what="a time", forms=_FORMS)
    return int(number) * UNITS[unit]
