"""Read the reset time in an engine's text, as "resets Nov 19, 3:53am (UTC)" or "try again at 3:05 PM"."""

from __future__ import annotations

from time import gmtime, localtime, mktime, struct_time

from fleet.model.names import is_number
from fleet.model.text.times import DAY, MINUTE, SECOND

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MARKS = ("resets at ", "resets ", "try again at ", "reset at ")
_NOON = 12
_MOST_DAYS, _MOST_HOURS, _MOST_MINUTES = 31, 24, 59


def reset_time(text: str, now: int) -> int | None:
    """Return the time in milliseconds at which a limit is reset, as an engine's text says; None when the text has no time.

    The text's time is local unless "(UTC)" or "(GMT)" follows it. Without a date, the next such time after `now` (in
    milliseconds) is meant.
    """
    low = text.lower()
    mark = next((word for word in _MARKS if word in low), None)
    if mark is None:
        return None
    moment, _, zone = low.partition(mark)[2].partition("(")
    utc = zone.startswith(("utc", "gmt"))
    today = gmtime(now / SECOND) if utc else localtime(now / SECOND)
    words = moment.replace(",", " ").replace(".", " ").split()
    day = _day_of(words, today)
    clock = next((word for word in map(_hour_and_minute, _time_words(words)) if word), None)
    if clock is None:
        return None
    return _next_moment(now, today, day, clock, utc=utc)


def _day_of(words: list[str], today: struct_time) -> tuple[int, int, int] | None:
    """Return the year, the month and the day in it that the words name; None when they name none that there is.

    The year is the one of `today`, or the next when that month is over.
    """
    for at, word in enumerate(words[1:]):
        date = _number(word, _MOST_DAYS)
        if words[at][:3] in _MONTHS and date is not None:
            month = _MONTHS.index(words[at][:3]) + 1
            year = today.tm_year + (1 if month < today.tm_mon else 0)
            return (year, month, date) if 1 <= date <= _days_of_month(year, month) else None
    return None


def _number(word: str, most: int) -> int | None:
    """Return the number of a word of one or two digits; None for any other word, and for a number over `most`."""
    return int(word) if is_number(word, 2) and int(word) <= most else None


def _time_words(words: list[str]) -> list[str]:
    """Return the words with "am" or "pm" appended to the word before it.

    The "am" or "pm" itself stays in the list: "3:05", "pm" becomes "3:05pm", "pm".
    """
    return [f"{word}{after}" if after in {"am", "pm"} else word for word, after in zip(words, [*words[1:], ""])]  # noqa: B905


def _hour_and_minute(word: str) -> tuple[int, int] | None:
    """Return hour and minute of a word like "3:05pm", "4am" or "15:05"; None when the word is no time."""
    half = word[-2:] if word.endswith(("am", "pm")) else ""
    before, _, after = word.removesuffix(half).partition(":")
    hour, minute = _number(before, _NOON if half else _MOST_HOURS), _number(after or "0", _MOST_MINUTES)
    if hour is None or minute is None or not (half or after) or (hour == _MOST_HOURS and minute):
        return None
    return hour % _NOON + (_NOON if half == "pm" else 0) if half else hour, minute


def _next_moment(
    now: int, today: struct_time, day: tuple[int, int, int] | None, clock: tuple[int, int], *, utc: bool
) -> int:
    """Return the moment, in milliseconds, with this time of day (`clock`) on this `day`: a year, a month and a date.

    Without a `day`, return the next such moment after `now`. `today` is the date of `now`: in UTC with `utc`, else in
    local time.
    """
    year, month, date = day or (today.tm_year, today.tm_mon, today.tm_mday)
    if utc:
        at = _days_since_1970(year, month, date) * DAY + (clock[0] * 60 + clock[1]) * MINUTE
    else:
        at = int(mktime((year, month, date, clock[0], clock[1], 0, 0, 0, -1))) * SECOND
    return at + DAY if day is None and at <= now else at


def _days_of_month(year: int, month: int) -> int:
    """Return how many days a month has."""
    following = (year, month + 1) if month < len(_MONTHS) else (year + 1, 1)
    return _days_since_1970(*following, 1) - _days_since_1970(year, month, 1)


def _days_since_1970(year: int, month: int, date: int) -> int:
    """Return how many days lie between 1970-01-01 and a date. The module `calendar` would be slow to import."""
    # Count the year from March, so that a leap day is its last day.
    years, months = (year, month - 3) if month > 2 else (year - 1, month + 9)  # noqa: PLR2004
    return years * 365 + years // 4 - years // 100 + years // 400 + (153 * months + 2) // 5 + date - 1 - 719_468
