"""`fleet up` starts the daemon, which holds the coordinator's seat; `fleet down` ends it when nothing needs it any more.

It starts and ends for people only, and takes no process of an agent for a person.
"""

import json
import os
import shlex
import signal
import subprocess
import sys

import pytest

from fleet.errors import NotAllowed
from fleet.testing.crash.scenarios import until

BEGIN = ("up", "--engine", "scripted", "--autonomy", "full", "--review", "none", "--no-tui")


@pytest.fixture
def repository(repository):
    subprocess.run(["git", "commit", "--quiet", "--allow-empty", "-m", "first"], cwd=repository, check=True)
    return repository


@pytest.mark.req("CLI-2")
def test_up_starts_the_daemon_and_the_coordinator_in_it_and_down_ends_both(program):
    program(*BEGIN).ok()
    daemon = program("daemon", "status", "--json").ok().json
    assert daemon["running"] is True
    (coordinator,) = program("ps", "--json").ok().json
    assert (coordinator["kind"], coordinator["source"]) == ("coord", "daemon")
    assert program(*BEGIN).ok().code == 0
    assert program("daemon", "status", "--json").ok().json["pid"] == daemon["pid"]
    said = program("down").ok().out
    assert "the daemon is ended" in said
    assert program("daemon", "status", "--json").ok().json["running"] is False


@pytest.mark.req("GATE-6", "IPC-6")
def test_a_daemon_that_ends_says_who_has_no_coordinator_and_the_next_one_has_taken_the_seat(program):
    program(*BEGIN).ok()
    (first,) = program("ps", "--json").ok().json
    again = program("daemon", "restart", "--json").ok().json
    (second,) = program("ps", "--json").ok().json
    assert (again["unheld"], second["detail"], second["state"]) == ([], f"daemon, pid {again['pid']}", "running")
    assert second["id"] != first["id"]
    says = f"without a coordinator now: {second['project']}; `fleet daemon start`"
    assert says in program("daemon", "stop").ok().out
    assert says in program("daemon", "status").ok().out
    assert program("daemon", "start").ok().out.count("\n") == 1
    os.kill(program("daemon", "status", "--json").ok().json["pid"], signal.SIGTERM)
    until(lambda: not program("daemon", "status", "--json").ok().json["running"])
    assert program("daemon", "status", "--json").ok().json["unheld"] == [second["project"]]
    program("daemon", "start").ok()
    program("down").ok()


@pytest.mark.req("CLI-2")
def test_up_starts_no_daemon_where_the_settings_say_never(program, home, tmux):
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text('daemon = "never"\n')
    program(*BEGIN).ok()
    assert program("daemon", "status", "--json").ok().json["running"] is False
    (coordinator,) = program("ps", "--json").ok().json
    assert coordinator["source"] != "daemon"
    program("down").ok()


@pytest.mark.req("OBS-6")
def test_doctor_says_whether_a_daemon_runs(program):
    program("init").ok()
    found = {each["about"]: each for each in program("doctor", "--json").json}
    assert "fleet daemon start" in found["daemon"]["says"]
    pid = program("daemon", "start", "--json").ok().json["pid"]
    found = {each["about"]: each for each in program("doctor", "--json").json}
    assert found["daemon"]["says"] == f"runs as process {pid}"
    program("daemon", "stop").ok()


@pytest.mark.req("IPC-4")
def test_a_daemon_that_cannot_serve_its_home_says_why_at_once(program, home):
    program("init").ok()
    (home / "daemon.sock").mkdir()
    program("daemon", "start").refused(1, "the daemon did not start", "daemon.sock is in the way")


AGENT = {"FLEET_DISPATCH_ID": "0a1b2c3d"}
ASK = """
import sys
from fleet.api.remote.door import Door
from fleet.errors import NotAllowed
door = Door(sys.argv[1])
door.open()
try:
    print(door.call(sys.argv[2], {}, caller={"as": "ann"}))
except NotAllowed as error:
    print(error.facts["act"])
"""
SEND = """
import json, sys
from fleet.api.remote.door import Door
from fleet.errors import NotAllowed
door = Door(sys.argv[1])
door.open()
try:
    done = door.call(sys.argv[2], json.loads(sys.argv[3]), key="k-" + str(__import__("os").getpid()), caller={"as": "ann"})
    print(done["result"].get("err") or "nothing")
except NotAllowed as error:
    print(error)
"""


@pytest.mark.req("SEC-1")
def test_no_command_of_an_agent_starts_or_ends_the_daemon(fleet, served):
    for word in ("start", "stop", "restart"):
        if word != "start":  # that says only that it runs
            fleet("daemon", word, env=AGENT).refused(14, "worker 0a1b2c3d", "only a person")
    assert served.call("daemon.status")["pid"] == served.pid
    served.stop()
    fleet.has_daemon = False
    for word in ("start", "restart"):
        fleet("daemon", word, env=AGENT).refused(14, "worker 0a1b2c3d", "only a person")
    assert not (fleet.home / "daemon.sock").exists()


@pytest.mark.req("SEC-1")
@pytest.mark.parametrize("method", ["daemon.stop", "daemon.reload"])
def test_the_daemon_ends_for_no_agent_that_asks_at_its_socket(fleet, served, method):
    with pytest.raises(NotAllowed) as refused:
        served.call(method, caller={"dispatch": "0a1b2c3d", "token": None})
    assert refused.value.facts["act"] == method
    inner = f"env -u FLEET_DISPATCH_ID {sys.executable} -c '{ASK}' {fleet.home}/daemon.sock {method}; true"
    around = {**os.environ, **AGENT, "FLEET_HOME": str(fleet.home)}
    disguised = subprocess.run(["sh", "-c", inner], env=around, capture_output=True, text=True, check=True)
    assert disguised.stdout.split() == [method], "a process of an agent that says it is a person"
    assert served.call("daemon.status")["pid"] == served.pid
    assert served.call("daemon.reload", caller={"as": "ann"}) is None


@pytest.mark.req("SEC-1")
@pytest.mark.parametrize("method", ["tasks.log", "tasks.artifact", "command"])
def test_no_process_of_an_agent_writes_into_a_log_as_a_person_by_the_daemon(fleet, served, method):
    fleet.add("a")
    own = {"message": "x"} if method == "tasks.log" else {"path": "notes.md"}
    args = (
        {"words": ["task", "log", "a", "x", "-p", "web"]}
        if method == "command"
        else {"project": "web", "slug": "a", **own}
    )
    asked = [sys.executable, "-c", SEND, str(fleet.home / "daemon.sock"), method, json.dumps(args)]
    around = {**os.environ, **AGENT, "FLEET_HOME": str(fleet.home)}
    for start, says in ((["env", "-u", "FLEET_DISPATCH_ID"], "speaks as a person"), ([], "nothing")):
        parent = around if start else {**os.environ, "FLEET_HOME": str(fleet.home)}
        line = shlex.join([*start, *asked])
        told = subprocess.run(["sh", "-c", f"{line}; true"], env=parent, capture_output=True, text=True, check=True)
        assert says in told.stdout, told
    shown = fleet.show("a")
    assert len(shown["log"]) + len(shown["artifacts"]) == 1, "the person's own"
