"""What the daemon does only for people: it starts and ends for them alone, and no agent's process speaks as one of them."""

import json
import os
import shlex
import subprocess
import sys

import pytest

from fleet.errors import NotAllowed

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
