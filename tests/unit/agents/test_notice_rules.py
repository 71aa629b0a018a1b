"""The rules of notices: their steps, quiet hours, what a terminal gets, how many messages there are."""

import time

import pytest

from fleet import errors
from fleet.model import tables
from fleet.model.agents.notices import escape_sequences, kinds, messages, quiet_hours, steps
from fleet.model.agents.notices.messages import Recent
from fleet.model.settings.document import read
from fleet.model.settings.setting_names import HOME_FILE
from fleet.model.text.times import MINUTE, SECOND
from fleet.store.queries import Notice

STATES = ("due", "sending", "told", "unsure", "failed", "lapsed")
EVENTS = (steps.TAKE, steps.TOLD, steps.REFUSED, steps.GIVE_UP, steps.LAPSE, steps.LOSE, steps.DOUBT)
ENDS = {"told", "unsure", "failed", "lapsed"}


@pytest.fixture
def utc(monkeypatch):
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def notice(number: int, kind: str = "failed") -> Notice:
    fields = dict.fromkeys(Notice._names)
    return Notice(**{**fields, "id": str(number), "kind": kind, "title": f"p/t{number} failed", "body": "b"})


@pytest.mark.req("NOTE-1")
@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("event", EVENTS)
def test_every_pair_of_state_and_event_is_a_step_or_refused(state, event):
    if (state, event) in steps.STEPS:
        assert tables.step(steps.STEPS, state, event) in STATES
        assert state not in ENDS, "what is told is never told again"
        return
    with pytest.raises(errors.InvariantBroken):
        tables.step(steps.STEPS, state, event)


@pytest.mark.req("NOTE-1")
def test_a_need_outlives_its_sender_and_what_nobody_waits_for_is_told_at_most_once():
    assert {kind: steps.after_lost_sender(kind) for kind in kinds.KINDS} == {
        "needs you": "due", "failed": "unsure", "review": "unsure", "blocked": "unsure",
    }  # fmt: skip
    assert [steps.after_refusal(attempts) for attempts in (1, 4, 5)] == ["due", "due", "failed"]
    assert [steps.wait_after(n) // SECOND for n in range(1, 8)] == [30, 60, 120, 240, 480, 600, 600]


@pytest.mark.req("NOTE-1")
@pytest.mark.parametrize(
    ("window", "quiet", "loud"),
    [
        ("22:00-07:00", ["22:00", "23:59", "00:00", "06:59"], ["07:00", "12:00", "21:59"]),
        ("09:30-10:00", ["09:30", "09:59"], ["09:29", "10:00", "23:00"]),
        (" 0:00 - 1:00 ", ["00:00", "00:59"], ["01:00", "23:59"]),
        (None, [], ["00:00", "12:00"]),
    ],
)
def test_quiet_hours_begin_with_their_first_minute_and_end_before_their_last(utc, window, quiet, loud):
    for clock, expected in [*((each, True) for each in quiet), *((each, False) for each in loud)]:
        hour, minute = map(int, clock.split(":"))
        assert quiet_hours.is_quiet(window, (hour * 60 + minute) * MINUTE) is expected, clock


@pytest.mark.req("NOTE-1")
def test_quiet_hours_are_those_of_the_machine(monkeypatch):
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    summer, winter = 1_782_856_800, 1_767_222_000  # 2026-07-01 00:00 and 2026-01-01 00:00, in Berlin
    assert quiet_hours.is_quiet("00:00-00:01", summer * SECOND)
    assert quiet_hours.is_quiet("00:00-00:01", winter * SECOND)
    monkeypatch.undo()
    time.tzset()


@pytest.mark.req("CONF-1")
@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('quiet = "22:00"', 'should be hours like "22:00-07:00"'),
        ('quiet = "22:00-22:00"', "should be hours"),
        ('quiet = "25:00-07:00"', "should be hours"),
        ('quiet = "2200-0700"', "should be hours"),
        ('on = ["needs me"]', "should be a list of 'needs you', 'failed', 'review', 'blocked'"),
        ('on = ["failed", "failed"]', "should be a list"),
        ('channels = "desktop"', "should be a list"),
        ('command = "notify me"', "should be a program and its words"),
        ("command = []", "should be a program and its words"),
        ("most = 0", "a whole number from 1 to 100"),
        ('urls = ["hunter2"]', "urls should be a list of addresses"),
        ('sound = "on"', "unknown setting 'notify.sound'"),
    ],
)
def test_a_wrong_setting_is_refused_with_its_line(line, words):
    with pytest.raises(errors.BadSetting) as refused:
        read("config.toml", f"[notify]\n{line}\n", HOME_FILE)
    assert words in str(refused.value)
    assert "config.toml:2" in str(refused.value)
    assert "hunter2" not in refused.value.spoken


@pytest.mark.req("NOTE-1")
@pytest.mark.parametrize(
    ("due", "recent", "sent"),
    [
        (0, Recent(), []),
        (3, Recent(), [1, 1, 1]),
        (4, Recent(), [4]),
        (1, Recent(count=2), [1]),
        (1, Recent(count=3), []),
        (2, Recent(count=3), [2]),
        (9, Recent(count=4, digests=1), []),
        (20, Recent(), [20]),
    ],
)
def test_single_messages_while_they_are_few_and_one_digest_a_minute(due, recent, sent):
    made = messages.messages([notice(n) for n in range(due)], recent=recent, most=3)
    assert [len(each.notices) for each in made] == sent


def test_a_digest_counts_the_kinds_and_shows_the_first_ones():
    given = [notice(n, "needs you" if n else "failed") for n in range(12)]
    [digest] = messages.messages(given, recent=Recent(), most=3)
    assert digest.title == "fleet: 11 need you, 1 failed"
    assert digest.body.splitlines()[-1] == "and 2 more: `fleet status`"
    assert len(digest.body.splitlines()) == 11
    left = messages.retaken(digest, {"3"})
    assert left is not None
    assert (left.title, len(left.notices)) == ("p/t3 failed", 1)
    assert messages.retaken(digest, set()) is None


@pytest.mark.req("NOTE-1", "SEC-4")
@pytest.mark.parametrize(
    ("terminal", "head"),
    [("xterm-256color", "9;"), ("", "9;"), ("foot", "777;notify;"), ("rxvt-unicode", "777;notify;")],
)
def test_a_terminal_gets_one_sequence_that_no_text_can_leave(terminal, head):
    hostile = "a\x07b\x1b\\c\x9cd;e\nf\x1b]0;x"
    given = escape_sequences.notification(hostile, hostile * 100, terminal=terminal).decode()
    assert given.startswith(f"\a\x1b]{head}")
    assert given.endswith("\a")
    inner = given.removeprefix("\a\x1b]").removesuffix("\a")
    assert inner.isprintable()
    assert inner.count(";") == head.count(";") + (1 if head.startswith("777") else 0)
    assert len(given) < 1_000
