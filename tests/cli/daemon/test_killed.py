"""The daemon is killed while clients write: every acknowledged change is there, once."""

import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from fleet.api.fleet import Fleet
from fleet.api.remote.door import Door, DoorClosed
from fleet.surfaces.cli.hot import by_daemon
from fleet.verbs.tasks import note

CLIENT = Path(__file__).with_name("writing_client.py")
# In CI a few seconds; `make daemon-storm` plays a minute.
SECONDS = float(os.environ.get("DAEMON_STORM_SECONDS", "6"))
CLIENTS, FEWEST = 4, 3


@pytest.mark.req("IPC-2", "STORE-16")
@pytest.mark.slow("a storm of kills")
def test_every_acknowledged_change_is_there_once_though_the_daemon_is_killed_all_the_time(either, daemon):
    either.add("a")
    clients = [
        subprocess.Popen(
            [sys.executable, str(CLIENT), f"client{number}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for number in range(CLIENTS)
    ]
    kills = 0
    until = time.monotonic() + SECONDS
    while time.monotonic() < until or kills < FEWEST:
        threading.Event().wait(random.uniform(0.2, 0.6))
        daemon.kill()
        kills += 1
        daemon.start()
    acknowledged = []
    for client in clients:
        out, _ = client.communicate("", timeout=120)
        assert client.returncode == 0, out
        acknowledged += out.splitlines()
    written = [entry["message"] for entry in either.show("a")["log"]]
    assert len(acknowledged) > CLIENTS
    assert sorted(written) == sorted(acknowledged)


@pytest.mark.req("IPC-2")
def test_a_request_whose_answer_was_lost_is_found_by_its_key(either, daemon):
    either.add("a")
    args = {"project": "web", "slug": "a", "message": "once"}
    how = {"key": "lost-answer", "caller": {"as": "ann"}}
    first = daemon.call("tasks.log", args, **how)
    daemon.kill()
    daemon.start()
    assert daemon.call("tasks.log", args, **how) == first
    daemon.kill()
    either.has_daemon = False
    either("task", "log", "a", "once", "--key", "lost-answer", "--as", "ann").ok()
    assert [entry["message"] for entry in either.show("a")["log"]] == ["once"]


@pytest.mark.req("IPC-2")
def test_an_act_of_several_steps_that_was_repeated_is_done_once(fleet, served):
    """`messages.send` commits a message for each agent: the keys of its steps derive from the key of the request."""
    fleet.add("a")
    for _ in range(2):
        served.call("tasks.pause", {"project": "web", "slug": "a"}, key="k1", caller={"as": "ann"})
        served.call("merge.acknowledge", {"project": "web", "reason": "x"}, key="k2", caller={"as": "ann"})
    whys = [line["why"] for line in fleet("ops", "--json").ok().objects]
    assert whys.count("pause web/a") == 1
    assert len(whys) == len(set(whys))


@pytest.mark.req("IPC-2")
def test_a_change_whose_answer_was_lost_is_not_made_again_by_the_client_itself(either, daemon, monkeypatch):
    either.add("a")
    call = Door.call

    def deaf(door, *given, **named):
        call(door, *given, **named)
        raise DoorClosed

    monkeypatch.setattr(Door, "call", deaf)
    with Fleet.open() as fleet:
        assert fleet.door is not None
        fleet.tasks.log(project="web", slug="a", message="once")
        assert fleet.door is None
        fleet.tasks.log(project="web", slug="a", message="once")  # another wish, which is another change
    assert [entry["message"] for entry in either.show("a")["log"]] == ["once", "once"]


@pytest.mark.req("IPC-2")
def test_a_hot_command_whose_answer_was_lost_is_not_done_again_by_its_own_process(either, daemon, monkeypatch):
    either.add("a")
    ask = by_daemon.exchange
    with monkeypatch.context() as patch:
        patch.setattr(by_daemon, "exchange", lambda path, request: (ask(path, request), None)[1])
        either("task", "log", "a", "once").ok()
    monkeypatch.delenv("FLEET_DIRECT")  # which the command has set for its own process
    assert [entry["message"] for entry in either.show("a")["log"]] == ["once"]


@pytest.mark.req("IPC-2")
def test_the_steps_of_a_repeated_invocation_are_found_by_their_keys(either):
    """What a request commits in several steps is found step by step; the same change made twice is two steps."""
    either.add("a")
    with Fleet.open() as fleet:
        for _ in range(2):
            with fleet.committer.under("invocation"):
                for message in ("one", "two", "two"):
                    fleet.commit(note.log(project="web", slug="a", message=message))
    assert [entry["message"] for entry in either.show("a")["log"]] == ["one", "two", "two"]
