"""LOG-3 and GRAPH-12: what was done is listed, filtered and followed. On both stores."""

import json
import time

import pytest

from fleet.api.fleet import Fleet
from fleet.store.transaction import Rows
from fleet.verbs.views import operations as follow
from fleet.world.clock import Clock

AGENT = {"FLEET_DISPATCH_ID": "0a1b2c3d", "FLEET_PROJECT": "web", "FLEET_TASK": "a"}


@pytest.fixture
def busy(either):
    """Seven operations by three actors on two tasks."""
    either.add("a")
    either.add("b", "--as", "bob")
    either("task", "claim", "a", env=AGENT).ok()
    either("log", "half\nof it", env=AGENT).ok()
    either("done", env=AGENT).ok()
    either("task", "fail", "b", "-r", "no", "--as", "bob").ok()
    return either


def whys(fleet, *words: str) -> list[str]:
    return [each["why"] for each in fleet("ops", "--json", *words).ok().objects]


@pytest.mark.req("LOG-3", "LOG-1")
def test_every_change_has_one_operation_with_sequence_time_actor_why_and_what(busy):
    operations = busy("ops", "--json").ok().objects
    assert [each["seq"] for each in operations] == [1, 2, 3, 4, 5, 6, 7]
    assert [each["why"] for each in operations] == [
        "register project web",
        "add web/a",
        "add web/b",
        "claim web/a",
        "log on web/a",
        "done web/a",
        "fail web/b",
    ]
    assert [each["actor"] for each in operations][2:] == ["bob", "0a1b2c3d", "0a1b2c3d", "0a1b2c3d", "bob"]
    assert operations[4]["what"] == {"message": "half\nof it"}
    assert [each["at"] for each in operations] == sorted(each["at"] for each in operations)


@pytest.mark.req("LOG-3")
@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["--task", "a"], ["add web/a", "claim web/a", "log on web/a", "done web/a"]),
        (["--task", "b", "-p", "web"], ["add web/b", "fail web/b"]),
        (["--dispatch", "0a1b2c3d"], ["claim web/a", "log on web/a", "done web/a"]),
        (["--dispatch", "deadbeef"], []),
        (["--actor", "bob"], ["add web/b", "fail web/b"]),
        (["--actor", "bob", "--task", "a"], []),
        (["--dispatch", "0a1b2c3d", "--task", "b"], []),
        (["--since", "1h", "--limit", "2"], ["done web/a", "fail web/b"]),
        (["--since", "2099-01-01"], []),
        (["--until", "1h"], []),
        (["--until", "1h", "--task", "a"], []),
        (["--since", "2099-01-01", "--task", "a"], []),
        (["--since", "2099-01-01", "--dispatch", "0a1b2c3d"], []),
        (["--actor", "bob", "--dispatch", "0a1b2c3d"], []),
        (["--limit", "1"], ["fail web/b"]),
    ],
    ids=lambda value: " ".join(value[:4]),
)
def test_operations_are_filtered(words, found, busy):
    assert whys(busy, *words) == found


@pytest.mark.req("LOG-3")
def test_since_a_moment_means_from_then_on(busy):
    third = busy("ops", "--json").ok().objects[2]
    later = [each for each in busy("ops", "--json").ok().objects if each["at"] >= third["at"]]
    assert busy("ops", "--json", "--since", third["at"]).ok().objects == later


@pytest.mark.req("LOG-3")
@pytest.mark.parametrize("words", [(), ("--task", "a"), ("--dispatch", "0a1b2c3d")], ids=["all", "task", "dispatch"])
def test_the_limit_counts_only_what_lies_in_the_time_that_is_asked_for(either, monkeypatch, words):
    """What came later fills no place of the list, nor does what others did."""
    hours = iter(range(1, 20))
    monkeypatch.setattr(Clock, "now", lambda _clock: (1_000_000 + next(hours)) * 3_600_000)
    either.add("a")
    either("task", "claim", "a", env=AGENT).ok()
    for message in ("one", "two", "three"):
        either("log", message, env=AGENT).ok()
    listed = either("ops", "--json", *words).ok().objects
    [second] = [each for each in listed if each["what"].get("message") == "two"]
    assert either("ops", "--json", "--limit", "1", "--until", second["at"], *words).ok().objects == [second]
    assert either("ops", "--json", "--limit", "1", "--actor", "0a1b2c3d", *words).ok().objects == listed[-1:]


def test_operations_are_told_in_a_line_each(fleet):
    fleet.add("a", "--as", "bob")
    fleet("task", "log", "a", "half\nof it", "--as", "bob").ok()
    line = fleet("ops").ok().out.splitlines()[-1]
    assert line.split()[0] == "3"
    assert line.endswith("bob  log on web/a  half of it")


@pytest.mark.req("LOG-3")
def test_the_limit_holds_for_archived_operations_too(either):
    for slug in ("a", "b", "c"):
        either.add(slug)
    either("maintenance", "rotate-operations", "--older-than", "0s").ok()
    everything = either("ops", "--json", "--archived").ok().objects
    assert [each["seq"] for each in everything] == list(range(1, len(everything) + 1))
    assert either("ops", "--json", "--archived", "--limit", "2").ok().objects == everything[-2:]


@pytest.mark.req("GRAPH-12", "LOG-1")
def test_watch_begins_where_it_is_told_and_ends_after_so_many(busy):
    seen = busy("task", "watch", "--after", "0", "--limit", "4", "--json").ok().objects
    assert [each["seq"] for each in seen] == [1, 2, 3, 4]
    seen = busy("task", "watch", "b", "--after", "2", "--limit", "2", "--json").ok().objects
    assert [each["why"] for each in seen] == ["add web/b", "fail web/b"]
    assert busy("task", "watch", "--after", "6", "--limit", "1").ok().out.endswith("bob  fail web/b  no\n")


@pytest.mark.req("GRAPH-12", "LOG-3")
@pytest.mark.parametrize(
    "words",
    [["task", "watch", "--after", "2", "--json"], ["ops", "--follow", "--task", "a", "--json"]],
    ids=["watch", "ops"],
)
def test_changes_are_streamed_as_they_happen(words, either, program):
    either.add("a")
    either.add("b")
    child = program.start(*words)
    first = json.loads(child.stdout.readline())
    assert first["why"] == ("add web/b" if "watch" in words else "add web/a")
    either("task", "log", "a", "seen?").ok()
    either("task", "done", "a").ok()
    assert [json.loads(child.stdout.readline())["why"] for _ in range(2)] == ["log on web/a", "done web/a"]


class Enough(Exception):
    """The follower has nothing more to read."""


@pytest.mark.req("LOG-3")
@pytest.mark.alone("it holds up the follower's own look at the store")
def test_an_operation_committed_while_following_begins_is_told_once(either, monkeypatch):
    """Between the look at the newest number and the list comes another commit: neither lost nor doubled."""
    either.add("a")
    newest = follow.newest

    def newest_then_one_more(rows: Rows) -> int:
        number = newest(rows)
        with Fleet.open(actor="bob") as other:
            other.tasks.log(project="web", slug="a", message="just now")
        return number

    def no_more(_self: Clock, _seconds: float) -> None:
        raise Enough

    monkeypatch.setattr(follow, "newest", newest_then_one_more)
    monkeypatch.setattr(Clock, "wait", no_more)
    with pytest.raises(Enough):
        either("ops", "--follow", "--json")
    seen = [json.loads(line)["seq"] for line in either.said().splitlines()]
    assert seen == [1, 2, 3]


@pytest.fixture
def central_europe(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.parametrize(
    ("noon", "told"),
    [("2027-01-15T12:00", "2027-01-15T11:00:00.000Z"), ("2027-07-15T12:00", "2027-07-15T10:00:00.000Z")],
)
def test_noon_is_noon_in_january_and_in_july_whatever_month_it_is_now(noon, told, fleet, central_europe):
    fleet.add("a", "--not-before", noon)
    assert fleet.show("a")["not_before"] == told
