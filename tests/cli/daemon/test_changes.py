"""Subscribers get every change, numbered, whoever made it; after a reconnect they go on, after a rotation they are told."""

import json
import os
import signal
import subprocess

import pytest

from fleet.api.fleet import Fleet
from fleet.testing.crash.scenarios import until


def subscribed(daemon, after=None):
    door = daemon.connect()
    answer = door.call("subscribe", {"after": after})
    return door, answer["result"]


def next_operations(door, number):
    """The next pushed operations, at least so many."""
    told = []
    while len(told) < number:
        push = door.receive()
        assert push["push"] == "changes"
        assert not push["operations"] or push["operations"][0]["seq"] == push["after"] + 1
        told += push["operations"]
    return told


@pytest.mark.req("LOG-1", "GRAPH-12")
def test_a_subscriber_is_told_of_every_change_by_the_daemon_and_by_others(either, daemon):
    door, start = subscribed(daemon)
    either.add("a")
    either("task", "log", "a", "through the daemon").ok()
    with Fleet.open() as direct:
        direct.do_without_daemon()
        direct.tasks.log(project="web", slug="a", message="past the daemon")
    told = next_operations(door, 3)
    door.close()
    assert [each["seq"] for each in told] == list(range(start["newest"] + 1, start["newest"] + 4))
    assert [each["what"].get("message") for each in told][1:] == ["through the daemon", "past the daemon"]


@pytest.mark.req("LOG-1")
def test_after_a_reconnect_a_subscriber_goes_on_from_its_number(either, daemon):
    door, _ = subscribed(daemon)
    either.add("a")
    last = next_operations(door, 1)[-1]["seq"]
    door.close()
    daemon.kill()
    for number in range(3):
        either("task", "log", "a", f"line {number}").ok()
    daemon.start()
    door, _ = subscribed(daemon, after=last)
    assert [each["seq"] for each in next_operations(door, 3)] == [last + 1, last + 2, last + 3]
    door.close()


@pytest.mark.req("LOG-1")
def test_a_subscriber_whose_changes_were_rotated_away_is_told_to_take_a_new_snapshot(either, daemon):
    for slug in ("a", "b", "c"):
        either.add(slug)
    either("maintenance", "rotate-operations", "--older-than", "0s").ok()
    door, _ = subscribed(daemon, after=1)
    push = door.receive()
    assert push["push"] == "gap"
    again = door.call("subscribe", {"snapshot": True})["result"]
    door.close()
    assert again["newest"] >= push["newest"]
    assert again["snapshot"]["projects"][0]["name"] == "web"


@pytest.mark.req("GRAPH-12")
def test_task_watch_and_ops_follow_go_through_the_daemon_and_survive_its_death(fleet, served, program):
    fleet.add("a")
    child = program.start("task", "watch", "--json", bufsize=1)
    until(lambda: served.call("daemon.status")["subscribers"] == 1)
    fleet("task", "log", "a", "one").ok()
    seen = [json.loads(child.stdout.readline())]
    assert seen[0]["what"]["message"] == "one"
    served.kill()
    fleet.has_daemon = False
    fleet("task", "log", "a", "two").ok()
    while seen[-1]["what"].get("message") != "two":
        seen.append(json.loads(child.stdout.readline()))
    numbers = [each["seq"] for each in seen]
    assert numbers == sorted(set(numbers))
    child.send_signal(signal.SIGINT)
    child.wait(60)


@pytest.mark.req("GRAPH-12")
@pytest.mark.parametrize("command", [("task", "watch"), ("ops", "--follow")])
def test_a_follower_polls_while_the_daemon_is_stopped_and_comes_back_to_it(fleet, served, program, command):
    """A stopped process accepts connections and never answers."""
    fleet.add("a")
    child = program.start(*command, "--json", bufsize=1)
    until(lambda: served.call("daemon.status")["subscribers"] == 1)
    os.kill(served.pid, signal.SIGSTOP)
    try:
        fleet("task", "log", "a", "one", env={"FLEET_DIRECT": "1"}).ok()
        heard = []
        while "one" not in heard:
            heard.append(json.loads(child.stdout.readline())["what"].get("message"))
    finally:
        os.kill(served.pid, signal.SIGCONT)
    until(lambda: served.call("daemon.status")["subscribers"] == 1)
    fleet("task", "log", "a", "two").ok()
    while "two" not in heard:
        heard.append(json.loads(child.stdout.readline())["what"].get("message"))
    child.send_signal(signal.SIGINT)
    child.wait(60)
    assert [each for each in heard if each] == ["one", "two"]


@pytest.mark.req("GRAPH-12")
def test_a_screen_hears_of_changes_while_the_daemon_is_stopped(fleet, served):
    fleet.add("a")
    with Fleet.open() as opened:
        changes, last = opened.views.changes(), opened.operations.newest()
        changes.next_change(last, 0.0)
        os.kill(served.pid, signal.SIGSTOP)
        try:
            fleet("task", "log", "a", "one", env={"FLEET_DIRECT": "1"}).ok()
            assert changes.next_change(last, 60.0) == last + 1
        finally:
            os.kill(served.pid, signal.SIGCONT)
            changes.close()


def test_a_screen_does_not_wait_for_what_it_does_not_want_any_more(fleet, served):
    fleet.add("a")
    with Fleet.open() as opened:
        changes, last = opened.views.changes(), opened.operations.newest()
        changes.next_change(last, 0.0)
        asked = []
        assert changes.next_change(last, 3600.0, wanted=lambda: asked.append(1)) is None
        assert asked == [1]
        changes.close()


@pytest.mark.req("SWEEP-10")
def test_a_daemon_whose_database_is_away_says_so_and_goes_on_when_it_is_back(fleet, served):
    fleet.add("a")
    for name in ("fleet.db", "fleet.db-wal", "fleet.db-shm"):
        if (fleet.home / name).exists():
            os.rename(fleet.home / name, fleet.home / f"kept-{name}")
    answer = fleet("task", "log", "a", "x")
    assert answer.code == 1
    assert "database" in answer.err
    for name in ("fleet.db", "fleet.db-wal", "fleet.db-shm"):
        if (fleet.home / f"kept-{name}").exists():
            os.rename(fleet.home / f"kept-{name}", fleet.home / name)
    fleet("task", "log", "a", "y").ok()
    assert [entry["message"] for entry in fleet.show("a")["log"]] == ["y"]
    assert subprocess.run(["kill", "-0", str(served.pid)], check=False).returncode == 0
