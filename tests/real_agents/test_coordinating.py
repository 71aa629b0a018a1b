"""The real Claude Code as the coordinator: it ticks unasked, is woken when there is something to do, and comes back as itself."""

import os
import signal

import pytest
from real_agents.staging.stage import until

from fleet.testing.scene import PROJECT
from fleet.verbs.views.operations import Which

TICK = {"run": "fleet coord tick && fleet status"}
SAY = {"say": "Nothing more to do."}


def ticks(stage) -> int:
    """How many ticks the coordinator has done."""
    with stage.scene.fleet() as fleet:
        operations = fleet.operations.list(Which(project=PROJECT), limit=200)
        return sum("has ticked" in each.why for each in operations)


@pytest.mark.timeout(300)
@pytest.mark.req("HAND-7")
def test_a_coordinator_ticks_without_a_question_is_woken_and_comes_back_in_its_conversation(stage, heard):
    stage.play(TICK, SAY)
    words = ("coord", "start", "-p", PROJECT, "--engine", "claude", "--autonomy", "ask", "--json")
    ident = stage.program(*words).ok().json["id"]
    until(lambda: ticks(stage) == 1, lambda: stage.screen(ident))
    stage.until_state(ident, "idle")
    assert stage.program("questions", "--json").ok().json == []
    stage.play(SAY, TICK, SAY)  # the second tick comes after one result
    stage.add("parser")
    until(lambda: ticks(stage) == 2, lambda: stage.screen(ident))
    assert any("task parser is ready" in body for body in heard)
    stage.until_state(ident, "idle")
    assert stage.program("questions", "--json").ok().json == []
    os.kill(stage.pid(ident), signal.SIGKILL)
    stage.play(SAY, SAY, TICK, SAY)
    until(lambda: not stage.agent(ident) or stage.agent(ident)["state"] == "exited", lambda: str(stage.agent(ident)))
    back = stage.program("resume", ident, "--json").ok().json
    assert back["conversation"] is True
    until(lambda: ticks(stage) == 3, lambda: stage.screen(back["id"]))
    assert "task parser is ready" in heard[-1], "it remembers"
    stage.until_state(back["id"], "idle")
    stage.program("coord", "stop", "-p", PROJECT).ok()
