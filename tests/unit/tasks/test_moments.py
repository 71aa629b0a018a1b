"""Times as people write them."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.errors.given import BadTime
from fleet.model.text.moments import moment
from fleet.model.text.times import LAST, age, duration, iso, iso_or_none, since_epoch

NOW = round(datetime(2026, 11, 15, 12, 30, tzinfo=UTC).timestamp() * 1_000)
EAST = timezone(timedelta(hours=2))


def told(given: str, **how) -> str:
    return iso(moment(given, now=NOW, **how))


@pytest.mark.parametrize(
    ("given", "milliseconds"),
    [
        ("90s", 90_000),
        ("30m", 1_800_000),
        ("2h", 7_200_000),
        ("3d", 259_200_000),
        ("1w", 604_800_000),
        ("0s", 0),
        (" 5m ", 300_000),
    ],
)
def test_a_duration_is_a_number_and_a_letter(given, milliseconds):
    assert duration(given) == milliseconds


@pytest.mark.parametrize("given", ["", "5", "m", "-5m", "5 m", "1.5h", "5y", "5M", "1h30m", "1234567s", "٣d", "5m\n5m"])
def test_what_is_no_duration_is_refused(given):
    with pytest.raises(BadTime) as refused:
        duration(given)
    assert repr(given) in str(refused.value)


@pytest.mark.parametrize(
    ("given", "at"),
    [
        ("30m", "2026-11-15T13:00:00.000Z"),
        ("18:00", "2026-11-15T18:00:00.000Z"),
        ("9:05", "2026-11-16T09:05:00.000Z"),
        ("12:30", "2026-11-15T12:30:00.000Z"),
        ("2026-12-01", "2026-12-01T00:00:00.000Z"),
        ("2026-12-01T18:00", "2026-12-01T18:00:00.000Z"),
        ("2026-12-01 18:00", "2026-12-01T18:00:00.000Z"),
        ("2026-12-01T18:00Z", "2026-12-01T18:00:00.000Z"),
        ("2026-12-01T18:00+02:00", "2026-12-01T16:00:00.000Z"),
    ],
)
def test_a_moment_lies_ahead(given, at):
    assert told(given) == at


@pytest.mark.parametrize(
    ("given", "at"),
    [("30m", "2026-11-15T12:00:00.000Z"), ("18:00", "2026-11-14T18:00:00.000Z"), ("9:05", "2026-11-15T09:05:00.000Z")],
)
def test_looking_back_it_lies_behind(given, at):
    assert told(given, back=True) == at


def test_the_time_of_day_is_that_of_the_place():
    assert told("18:00", local=EAST) == "2026-11-15T16:00:00.000Z"
    assert told("14:00", local=EAST) == "2026-11-16T12:00:00.000Z"
    assert told("2026-12-01", local=EAST) == "2026-11-30T22:00:00.000Z"
    assert told("2026-12-01T00:00Z", local=EAST) == "2026-12-01T00:00:00.000Z"


@pytest.mark.parametrize(
    "given", ["", "soon", "24:00", "12:60", "1:2:3:4", "2026-13-01", "2026-02-30", "tomorrow", "15.11.2026"]
)
def test_what_is_no_moment_is_refused(given):
    with pytest.raises(BadTime):
        moment(given, now=NOW)


@given(at=st.integers(0, 253_402_300_799_999))
def test_a_time_that_is_written_is_read_as_it_was(at):
    assert moment(iso(at), now=NOW) == at
    assert datetime.fromisoformat(iso(at)).timestamp() == pytest.approx(at / 1_000)


@pytest.mark.parametrize("given", ["0001-01-01", "1969-12-31T23:59:59Z", "9999-12-31T23:59:59-01:00", "999999w"])
def test_a_time_that_no_four_digits_after_1970_tell_is_refused(given):
    with pytest.raises(BadTime, match="is not a time between 1970 and 9999"):
        moment(given, now=NOW)
    with pytest.raises(BadTime):
        moment(given, now=NOW, local=None)


def test_a_duration_is_explained_without_times_of_day():
    with pytest.raises(BadTime) as refused:
        duration("long")
    assert "18:00" not in refused.value.next_step


@given(one=st.integers(0, 253_402_300_799_999), other=st.integers(0, 253_402_300_799_999))
def test_written_times_sort_like_the_times_themselves(one, other):
    assert (iso(one) < iso(other)) == (one < other)


def test_no_time_is_none():
    assert (iso_or_none(None), iso_or_none(0)) == (None, "1970-01-01T00:00:00.000Z")


@pytest.mark.parametrize(
    ("milliseconds", "short"),
    [(-5, "0s"), (0, "0s"), (999, "0s"), (12_000, "12s"), (300_000, "5m"), (7_300_000, "2h"), (172_800_000, "2d")],
)
def test_an_age_is_told_in_its_largest_unit(milliseconds, short):
    assert age(milliseconds) == short


@given(st.integers(min_value=0, max_value=LAST))
def test_a_time_that_was_written_is_read_back(at):
    assert since_epoch(iso(at)) == at


@pytest.mark.parametrize("day", ["2000-02-29", "2023-12-31", "2024-02-29", "2024-03-01", "2100-02-28", "2100-03-01"])
def test_a_day_around_the_end_of_february_is_the_day_that_datetime_means(day):
    meant = datetime.fromisoformat(f"{day}T12:34:56.789+00:00")
    assert since_epoch(f"{day}T12:34:56.789Z") == round(meant.timestamp() * 1000)
