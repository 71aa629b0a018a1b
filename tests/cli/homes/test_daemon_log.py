"""The daemon's log: private, bounded, without secrets, and harmless to whoever writes it."""

import json
import os
import stat
import threading
from itertools import islice
from pathlib import Path

import pytest
from cli.commandline import PATIENCE
from click.testing import CliRunner

from fleet.surfaces.cli.commands.home.daemon_logs import entry_line, logs
from fleet.testing.simulated.clock import SimulatedClock
from fleet.world.files import daemon_log
from fleet.world.files.daemon_log import DaemonLog
from fleet.world.funnel import Funnel


@pytest.fixture
def place(tmp_path: Path) -> str:
    (tmp_path / "home").mkdir()
    return str(tmp_path / "home")


def events(home: str, most: int = 10_000) -> list[object]:
    return [entry["event"] for entry in daemon_log.newest(home, most)]


def files(home: str) -> list[str]:
    return sorted(os.listdir(f"{home}/logs"))


def test_a_line_is_one_json_object_with_its_time_in_a_private_file(place):
    log = DaemonLog(place, Funnel(), clock=SimulatedClock())
    log.write("duty", name="notify", lines=["told a"], seconds=0.5, nothing=None)
    log.write("line\nbreak \x1b[31m", who={"a": ("b", 1)})
    first, second = Path(log.path).read_text().splitlines()
    assert json.loads(first) == {"at": "2026-01-01T00:00:00.000Z", "event": "duty", "name": "notify", "lines": ["told a"], "seconds": 0.5, "nothing": None}  # fmt: skip
    assert json.loads(second)["who"] == {"a": ["b", 1]}
    assert "\x1b" not in second
    assert stat.S_IMODE(os.stat(log.path).st_mode) == 0o600
    os.chmod(log.path, 0o644)
    log.write("again")
    assert stat.S_IMODE(os.stat(log.path).st_mode) == 0o600


def test_the_log_is_rotated_by_size_and_a_few_files_are_kept(place):
    log = DaemonLog(place, Funnel(), most=400, kept=2)
    for number in range(100):
        log.write("event", number=number)
    assert files(place) == ["daemon.log", "daemon.log.1", "daemon.log.2"]
    assert all(os.path.getsize(f"{place}/logs/{name}") <= 400 for name in files(place))
    numbers = [entry["number"] for entry in daemon_log.newest(place, 1000)]
    assert numbers == list(range(numbers[0], 100)), "the newest, in order, without a gap"
    assert [entry["number"] for entry in daemon_log.newest(place, 8)] == list(range(92, 100))


@pytest.mark.req("SEC-5")
def test_no_secret_is_in_the_log(place):
    log = DaemonLog(place, Funnel())
    url = "postgresql://ann:s3cr3t@localhost/fleet?password=s3cr3t"
    log.write("error", error=ConnectionError(f"cannot reach {url}"), agent_token="s3cr3t", environ={"A": "s3cr3t"})
    log.write("request", args={"urls": ["ntfy://s3cr3t"], "list": [{"token": "s3cr3t"}, "GH_TOKEN=s3cr3t"]}, tokens=5)
    text = Path(log.path).read_text()
    assert "s3cr3t" not in text
    assert "localhost" in text
    assert '"tokens": 5' in text


@pytest.mark.parametrize("trouble", ["a folder in its place", "a link in its place", "in a transaction"])
def test_a_log_that_cannot_be_written_harms_nobody_and_says_later_how_much_is_missing(place, tmp_path, trouble):
    funnel, path = Funnel(), Path(place, "logs", "daemon.log")
    log = DaemonLog(place, funnel)
    path.parent.mkdir()
    elsewhere = tmp_path / "elsewhere"
    match trouble:
        case "a folder in its place":
            path.mkdir()
        case "a link in its place":
            path.symlink_to(elsewhere)
        case _:
            funnel.shut("work")
    log.write("one")
    log.write("two", endless=object())
    assert log.lost == 2
    assert not elsewhere.exists()
    funnel.reopen()
    if path.is_symlink():
        path.unlink()
    elif path.is_dir():
        path.rmdir()
    log.write("three")
    [entry] = daemon_log.newest(place, 10)
    assert (entry["event"], entry["lines_lost"], log.lost) == ("three", 2, 0)


def test_a_full_disk_leaves_half_a_line_that_no_reader_trips_over(place, monkeypatch):
    log, write = DaemonLog(place, Funnel()), os.write
    log.write("one")
    with monkeypatch.context() as full:
        full.setattr(os, "write", lambda handle, content: write(handle, content[:10]))
        log.write("two")
    assert log.lost == 1
    log.write("three")
    assert events(place) == ["one", "three"]


def test_threads_share_a_log_and_lose_nothing(place):
    log = DaemonLog(place, Funnel(), most=3_000, kept=100)
    threads = [threading.Thread(target=lambda n=n: [log.write("e", n=n, i=i) for i in range(50)]) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = [json.loads(line) for path in Path(place, "logs").iterdir() for line in path.read_text().splitlines()]
    assert sorted((each["n"], each["i"]) for each in found) == [(n, i) for n in range(4) for i in range(50)]


def test_a_follower_sees_each_line_once_also_across_a_rotation(place):
    log = DaemonLog(place, Funnel(), most=300)
    for number in range(3):
        log.write("old", number=number)
    clock = SimulatedClock()
    coming = daemon_log.follow(place, clock, most=2)
    assert [entry["number"] for entry in islice(coming, 2)] == [1, 2]
    assert next(coming) is None
    for number in range(3, 9):
        log.write("new", number=number)
    assert "daemon.log.1" in files(place)
    found = [entry["number"] for entry in islice(coming, 4) if entry]
    rest = [entry["number"] for entry in islice(coming, 2) if entry]
    assert sorted({*found, *rest}) == found + rest
    assert (found + rest)[-1] == 8


def until_none(coming) -> list[object]:
    """The numbers of the entries that come before the follower has to wait."""
    return [entry["number"] for entry in iter(lambda: next(coming), None)]


@pytest.mark.parametrize("rotations", range(1, daemon_log.KEPT + 1))
def test_a_follower_misses_nothing_when_the_log_is_rotated_several_times_between_two_looks(place, rotations):
    log, numbers = DaemonLog(place, Funnel(), most=300), iter(range(1_000))
    log.write("old", number=next(numbers))
    coming = daemon_log.follow(place, SimulatedClock(), most=1)
    assert until_none(coming) == [0]
    while len(files(place)) <= rotations:
        log.write("new", number=(last := next(numbers)))
    assert until_none(coming) == list(range(1, last + 1))
    log.write("new", number=last + 1)
    assert until_none(coming) == [last + 1]


def test_a_follower_whose_file_is_no_longer_kept_goes_on_in_the_newest(place):
    log = DaemonLog(place, Funnel(), most=300)
    log.write("old", number=0)
    coming = daemon_log.follow(place, SimulatedClock(), most=1)
    assert until_none(coming) == [0]
    for number in range(1, 100):
        log.write("new", number=number)
    found = until_none(coming)
    assert (found, found[-1]) == (sorted({*found}), 99)


def test_a_follower_misses_no_line_that_is_written_between_its_look_and_a_rotation(place, monkeypatch):
    log, read, written = DaemonLog(place, Funnel(), most=300), daemon_log._read_lines, [0]
    log.write("old", number=0)
    coming = daemon_log.follow(place, SimulatedClock(), most=1)
    assert until_none(coming) == [0]

    def then_written(handle, rest):
        found = read(handle, rest)
        while len(files(place)) < 2:
            written.append(len(written))
            log.write("new", number=written[-1])
        return found

    monkeypatch.setattr(daemon_log, "_read_lines", then_written)
    assert until_none(coming) == written[1:]


def test_a_file_that_is_rotated_again_while_the_next_one_is_opened_is_followed_by_the_right_one(place, monkeypatch):
    log, opened, numbers = DaemonLog(place, Funnel(), most=300), daemon_log._open_log, iter(range(1_000))
    log.write("old", number=next(numbers))
    coming = daemon_log.follow(place, SimulatedClock(), most=1)
    assert until_none(coming) == [0]
    while len(files(place)) < 2:
        log.write("new", number=(last := next(numbers)))

    def rotated_before(path: str) -> int:
        while len(files(place)) < 3:
            log.write("new", number=next(numbers))
        return opened(path)

    monkeypatch.setattr(daemon_log, "_open_log", rotated_before)
    found = until_none(coming)
    assert found == list(range(1, next(numbers)))
    assert found[-1] > last


@pytest.mark.parametrize(("most", "numbers"), [(0, []), (1, [1]), (2, [0, 1]), (3, [0, 1])])
def test_a_follower_begins_with_as_many_entries_as_it_is_asked_for(place, most, numbers):
    log = DaemonLog(place, Funnel())
    for number in range(2):
        log.write("old", number=number)
    found = until_none(daemon_log.follow(place, SimulatedClock(), most=most))
    assert found == [entry["number"] for entry in daemon_log.newest(place, most)] == numbers


def test_a_follower_waits_for_a_log_that_is_not_there_yet(place):
    coming = daemon_log.follow(place, SimulatedClock(), most=5)
    assert next(coming) is None
    DaemonLog(place, Funnel()).write("first")
    assert next(coming)["event"] == "first"


@pytest.mark.req("SEC-4")
def test_the_command_prints_lines_for_people_and_objects_for_programs(place, monkeypatch):
    monkeypatch.setenv("FLEET_HOME", place)
    assert "nothing yet" in CliRunner().invoke(logs, []).output
    log = DaemonLog(place, Funnel(), clock=SimulatedClock())
    log.write("duty failed", name="sweep", error="no \x1b[31mway\x07", failures=2)
    told = CliRunner().invoke(logs, ["-n", "5"], catch_exceptions=False).output
    assert told.startswith("2026-01-01 00:00:00 UTC  duty failed  name=sweep error=")
    assert "failures=2" in told
    assert not {"\x1b", "\x07"} & set(told)
    assert json.loads(CliRunner().invoke(logs, ["--json"]).output)["error"] == "no \x1b[31mway\x07"
    assert "Examples:" in CliRunner().invoke(logs, ["--help"]).output
    assert entry_line({}) == entry_line({"at": ""})


@pytest.mark.parametrize("words", [("--json",), ()], ids=["objects", "lines"])
def test_following_prints_each_line_as_it_is_written_until_nobody_reads_any_more(program, home, words):
    home.mkdir(mode=0o700)
    log = DaemonLog(str(home), Funnel())
    for number in range(3):
        log.write("old", number=number)
    child = program.start("daemon", "logs", "--follow", "--limit", "2", *words)
    told = [child.stdout.readline(), child.stdout.readline()]
    log.write("new", number=3)
    told.append(child.stdout.readline())
    child.stdout.close()
    assert (child.wait(PATIENCE), child.stderr.read()) == (0, "")
    if words:
        assert [(each["event"], each["number"]) for each in map(json.loads, told)] == [
            ("old", 1),
            ("old", 2),
            ("new", 3),
        ]
    else:
        assert [line.split("  ")[1:] for line in told] == [
            ["old", "number=1\n"],
            ["old", "number=2\n"],
            ["new", "number=3\n"],
        ]


def test_the_log_is_printed_though_the_record_of_the_home_cannot_be_read(nowhere, home):
    home.mkdir(mode=0o700)
    record = home / "home.json"
    record.write_text("half of ")
    DaemonLog(str(home), Funnel()).write("no store", error="HomeUnusable")
    nowhere("status").refused(1, "home.json cannot be understood")
    assert nowhere("daemon", "logs").ok().out.split("  ")[1:] == ["no store", "error=HomeUnusable\n"]
    record.unlink()
