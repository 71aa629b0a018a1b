"""The daemon is killed while clients write: every acknowledged change is there, once."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest
from staging.daemon import PATIENCE

from fleet import errors
from fleet.api.fleet import Fleet
from fleet.api.remote import by_door, door, parts
from fleet.api.remote.door import Door, DoorClosed
from fleet.model.tasks.markdown_list import Item
from fleet.surfaces.cli.hot import by_daemon
from fleet.testing.crash.scenarios import until
from fleet.verbs.dispatch.plan import Wanted
from fleet.verbs.jobs.begin import JobRequest
from fleet.verbs.tasks import note
from fleet.verbs.tasks.edit import Edit

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


ITEMS = [
    Item(line=1, title="One", parent=None, slug="one"),
    Item(line=2, title="Two", parent=None, after=("one",)),
]


@pytest.mark.req("IPC-2")
def test_a_daemon_that_is_stopped_after_its_greeting_is_given_up_and_what_it_does_later_is_done_once(
    either, daemon, monkeypatch
):
    either.add("a")
    monkeypatch.setattr(parts, "ANSWER", 0.2)
    with Fleet.open() as fleet:
        assert fleet.door is not None
        os.kill(daemon.pid, signal.SIGSTOP)
        try:
            fleet.tasks.log(project="web", slug="a", message="once")
            fleet.tasks.pause(project="web", slug="a")
        finally:
            os.kill(daemon.pid, signal.SIGCONT)
    deadline = time.monotonic() + PATIENCE
    while daemon.call("daemon.status")["requests"] < 2 and time.monotonic() < deadline:
        time.sleep(0.01)  # the request that waited in its socket is over
    assert [entry["message"] for entry in either.show("a")["log"]] == ["once"]
    whys = [line["why"] for line in either("ops", "--json").ok().objects]
    assert whys.count("pause web/a") == 1


@pytest.mark.req("IPC-2")
def test_a_daemon_that_is_stopped_before_it_answers_a_long_act_is_given_up_too(fleet, served, monkeypatch):
    second = fleet.home.parent / "second"
    subprocess.run(["git", "init", "--quiet", str(second)], check=True)
    monkeypatch.setattr(parts, "ANSWER", 0.2)
    monkeypatch.setattr(door, "SILENCE", 0.2)
    with Fleet.open() as by:
        assert by.door is not None
        os.kill(served.pid, signal.SIGSTOP)
        watchdog = threading.Timer(PATIENCE, os.kill, (served.pid, signal.SIGCONT))
        watchdog.start()
        try:
            by.projects.register(str(second), "second")
            assert by.door is None, "the daemon was waited for"
        finally:
            watchdog.cancel()
            os.kill(served.pid, signal.SIGCONT)
    until(lambda: _is_idle(served.call("daemon.status")))
    whys = [line["why"] for line in fleet("ops", "--json").ok().objects]
    assert whys.count("register project second") == 1


def _is_idle(status: dict[str, int]) -> bool:
    """Whether the client that asks is the only one, and its question the only request at work."""
    return (status["clients"], status["at_work"]) == (1, 1)


@pytest.mark.req("IPC-2")
def test_a_daemon_that_works_long_is_waited_for_as_long_as_it_greets(fleet, served, monkeypatch):
    second = fleet.home.parent / "second"
    subprocess.run(["git", "init", "--quiet", str(second)], check=True)
    looks = []
    looked = door._is_silent
    monkeypatch.setattr(door, "_is_silent", lambda path: looks.append(looked(path)) or looks[-1])
    monkeypatch.setattr(parts, "ANSWER", 0.001)
    with Fleet.open() as by:
        by.projects.register(str(second), "second")
        assert by.door is not None
    assert set(looks) == {False}


@pytest.mark.req("IPC-2", "IPC-1")
def test_a_silent_daemon_is_shown_as_one_and_the_way_out_is_named(fleet, served, monkeypatch):
    os.kill(served.pid, signal.SIGSTOP)
    monkeypatch.setattr("fleet.api.remote.door.GREETING", 0.2)
    monkeypatch.setattr(by_daemon, "_GREETING", 0.2)
    try:
        for word in ("status", "doctor"):
            assert f"`kill -CONT {served.pid}` continues it" in fleet(word).out.replace("\n", " ")
        said = fleet("daemon", "status").ok()
        assert f"pid={served.pid}" in said.out
        assert "does not answer" in said.out
        assert f"kill -CONT {served.pid}" in said.out
        assert fleet("daemon", "status", "--json").ok().json["pid"] == served.pid
        for word in ("start", "stop", "restart"):
            refused = fleet("daemon", word)
            assert refused.code == 12, refused
            assert f"kill -CONT {served.pid}" in refused.err
            assert "daemon restart" not in refused.err
    finally:
        os.kill(served.pid, signal.SIGCONT)
    assert fleet("daemon", "status", "--json").ok().json["running"]
    for word in ("status", "doctor"):
        assert "kill -CONT" not in fleet(word).out


@pytest.mark.req("IPC-2", "SEC-3")
def test_an_agent_that_has_only_the_socket_is_told_that_the_outcome_is_not_known(fleet, served, monkeypatch):
    monkeypatch.setattr(parts, "ANSWER", 0.2)
    monkeypatch.setattr(by_door, "_PATIENCE", 0.1)
    monkeypatch.setenv("FLEET_DOOR", str(Path(fleet.home, "door/agents.sock")))
    monkeypatch.setenv("FLEET_DISPATCH_ID", "0123abcd")
    with Fleet.open() as agent:
        agent._opened_door()
        os.kill(served.pid, signal.SIGSTOP)
        try:
            with pytest.raises(errors.Unanswered) as told:
                agent.tasks.log(project="web", slug="a", message="x")
            assert told.value.facts["key"] in told.value.next_step
            monkeypatch.setattr("fleet.api.remote.door.GREETING", 0.1)
            with pytest.raises(errors.NoDoor):
                agent.tasks.log(project="web", slug="a", message="never sent")
        finally:
            os.kill(served.pid, signal.SIGCONT)


@pytest.mark.req("STORE-15", "IPC-1")
def test_a_daemon_whose_database_was_replaced_ends_with_its_reason_and_the_next_serves_what_is_there_now(fleet, served):
    fleet.add("kept")
    backup = fleet.home / "backup.db"
    with closing(sqlite3.connect(fleet.home / "fleet.db")) as db:
        db.execute("VACUUM INTO ?", (str(backup),))
    fleet.add("lost")
    away = fleet.home / "damaged"
    away.mkdir(mode=0o700)
    for file in fleet.home.glob("fleet.db-*"):
        file.rename(away / file.name)
    backup.replace(fleet.home / "fleet.db")
    assert served.process.wait(PATIENCE) == 1
    assert "replaced by another file" in fleet("daemon", "logs", "-n", "1").ok().out
    fleet.has_daemon = False
    assert "it has died" not in fleet("doctor").out
    served.start()
    fleet.has_daemon = True
    assert [task["slug"] for task in fleet("task", "list", "--json").ok().json] == ["kept"]
    fleet("daemon", "stop").ok()


@pytest.fixture
def answers_lost(monkeypatch) -> None:
    """The daemon performs each heavy request, and goes away before its answer is read."""
    call = Door.call

    def deaf(door, method, *given, **named):
        call(door, method, *given, **named)
        lost = DoorClosed("it went away")
        lost.was_sent = True
        raise lost

    monkeypatch.setattr(Door, "call", deaf)


@pytest.mark.req("IPC-2")
def test_whatever_a_person_asked_for_is_done_once_and_told_as_done(fleet, served, answers_lost):
    with Fleet.open() as by:
        by.tasks.add(project="web", title="First", slug="first")
    with Fleet.open() as by:
        by.tasks.add(project="web", title="B", slug="b", after=("first",), tags=("x", "y"), priority=3)
    for act in (
        lambda by: by.graph.add_list(ITEMS, name="list", project="web"),
        lambda by: by.tasks.edit(Edit(project="web", slug="b", title="C", add_tags=("z",))),
        lambda by: by.tasks.pause(project="web", slug="b"),
        lambda by: by.tasks.claim(project="web", slug="first"),
        lambda by: by.tasks.log(project="web", slug="first", message="m"),
        lambda by: by.tasks.artifact(project="web", slug="first", path="a/b"),
        lambda by: by.tasks.block(project="web", slug="first", reason="r"),
        lambda by: by.tasks.retry(project="web", slug="first"),
        lambda by: by.tasks.abandon(project="web", slug="first", reason="r"),
        lambda by: by.tasks.archive(project="web", slug="first"),
        lambda by: by.engines.allow(5.0, project="web"),
        lambda by: by.settings.trust("web", {"verify": "true"}),
    ):
        with Fleet.open() as by:
            assert by.door is not None
            act(by)
            assert by.door is None
    whys = [line["why"] for line in fleet("ops", "--json").ok().objects]
    assert len(whys) == len(set(whys)), whys


@pytest.mark.req("IPC-2")
def test_an_agent_that_the_daemon_started_before_it_went_away_is_named(fleet, served, answers_lost):
    subprocess.run(["git", "commit", "--quiet", "--allow-empty", "-m", "x"], cwd=fleet.where, check=True)
    fleet.add("a")
    with Fleet.open() as by, pytest.raises(errors.AnswerLost) as told:
        by.dispatches.start(Wanted(project="web", slug="a", engine="shell", command=("sleep", "600")))
    (agent,) = fleet.ask("ps")
    assert f"dispatch {agent['id']}" in str(told.value)
    killed = fleet("kill", agent["id"], "--reason", "over")
    assert (killed.code, f"settle {agent['id']}: failed (killed: over)" in killed.err) == (1, True), killed


@pytest.mark.req("IPC-2", "JOB-1")
def test_a_job_whose_daemon_went_away_is_gone_on_with_and_not_begun_again(fleet, served, answers_lost):
    subprocess.run(["git", "commit", "--quiet", "--allow-empty", "-m", "x"], cwd=fleet.where, check=True)
    count = Path(fleet.where, "count")
    document = {"name": "n", "map": {"input": ["one"], "steps": [{"shell": f"echo x >> {count}"}]}}
    Path(fleet.where, "job.yml").write_text(json.dumps(document))
    with Fleet.open() as by:
        ended = by.jobs.run(JobRequest(project="web", file=str(Path(fleet.where, "job.yml"))), tell=lambda _event: None)
        assert [job.id for job in by.jobs.list()] == [ended.id]
    assert count.read_text().split() == ["x"], "its item was done once"


@pytest.mark.req("IPC-2", "JOB-1")
def test_a_job_that_was_interrupted_with_its_daemon_is_run_to_its_end(fleet, served, monkeypatch):
    subprocess.run(["git", "commit", "--quiet", "--allow-empty", "-m", "x"], cwd=fleet.where, check=True)
    begun, go = Path(fleet.where, "begun"), Path(fleet.where, "go")
    lines = f"touch {begun}; until [ -e {go} ]; do sleep 0.05; done"
    document = {"name": "n", "map": {"input": ["one", "two"], "steps": [{"shell": lines}]}}
    Path(fleet.where, "job.yml").write_text(json.dumps(document))

    def leave(door, method, args, *, key, caller, **_named):
        door.send(method, args, key=key, caller=caller)
        until(begun.exists)
        door.close()  # the daemon interrupts the process that runs the job
        until(lambda: fleet("job", "list", "--json").ok().json[0]["state"] == "paused")
        go.touch()
        lost = DoorClosed("it went away")
        lost.was_sent = True
        raise lost

    with Fleet.open() as by, monkeypatch.context() as patch:
        patch.setattr(Door, "call", leave)
        ended = by.jobs.run(JobRequest(project="web", file=str(Path(fleet.where, "job.yml"))), tell=lambda _event: None)
        assert [(job.id, job.state) for job in by.jobs.list()] == [(ended.id, "done")]
        assert [item.state for item in by.jobs.items(ended.id)] == ["done", "done"]
