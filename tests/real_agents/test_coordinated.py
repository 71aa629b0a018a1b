"""The real Claude Code under fleet's own coordinator, from a task to its merge with a handoff on the way; and as the coordinator."""

import os
import signal
import threading

import pytest
from real_agents.staging.stage import until

from fleet.testing.scene import PROJECT
from fleet.verbs.views.operations import Which

WORK = {"run": "echo hello > out.txt && git add . && git commit -qm 'Add out'", "tokens": 550_000}
REPORT = {"run": "fleet done"}
SAY = {"say": "Done."}
# The turns of a coordinator.
TICK = {"run": "fleet coord tick && fleet status"}
END = {"say": "Nothing more to do."}


@pytest.mark.timeout(300)
@pytest.mark.req("HAND-7", "HAND-2", "HAND-6", "PIPE-1", "GRAPH-13")
def test_a_full_context_is_handed_off_and_the_successor_finishes_and_is_merged(stage, heard):
    hold = threading.Event()
    stage.play(WORK, SAY | {"hold": hold, "tokens": 550_000})
    old = stage.full_screen("t", "full")
    until(lambda: stage.agent(old).get("context") == 55 and len(heard) == 2, lambda: str(stage.agent(old)))
    stage.play(REPORT, SAY)  # what its successor is told
    stage.program("coord", "start", "-p", PROJECT).ok()
    with stage.scene.fleet() as fleet:
        until(
            lambda: [each.state for each in fleet.coord.handoffs(PROJECT)] == ["done"],
            lambda: str(fleet.coord.handoffs(PROJECT)),
        )
        (entry,) = fleet.coord.handoffs(PROJECT)
        hold.set()
        assert (entry.dispatch, "context 55 %" in entry.reason) == (old, True)
        assert "commit: " in fleet.coord.handoff(old).text
        until(lambda: stage.task("t")["archived"], lambda: str(stage.task("t")))
        assert stage.journal(entry.successor)["predecessor"] == old
        assert any(f"Agent {old} worked on this before you" in body for body in heard)
        assert stage.scene.git("show", "fleet/main:out.txt") == "hello"
        stage.program("coord", "stop", "-p", PROJECT).ok()
        until(lambda: not fleet.agents.list(), lambda: str(fleet.agents.list()))


def ticks(stage) -> int:
    """How many ticks the coordinator has done."""
    with stage.scene.fleet() as fleet:
        operations = fleet.operations.list(Which(project=PROJECT), limit=200)
        return sum("has ticked" in each.why for each in operations)


@pytest.mark.timeout(300)
@pytest.mark.req("HAND-7")
def test_a_coordinator_ticks_without_a_question_is_woken_and_comes_back_in_its_conversation(stage, heard):
    stage.play(TICK, END)
    words = ("coord", "start", "-p", PROJECT, "--engine", "claude", "--autonomy", "ask", "--json")
    ident = stage.program(*words).ok().json["id"]
    until(lambda: ticks(stage) == 1, lambda: stage.screen(ident))
    stage.until_state(ident, "idle")
    assert stage.program("questions", "--json").ok().json == []
    stage.play(END, TICK, END)  # the second tick comes after one result
    stage.add("parser")
    until(lambda: ticks(stage) == 2, lambda: stage.screen(ident))
    assert any("task parser is ready" in body for body in heard)
    stage.until_state(ident, "idle")
    assert stage.program("questions", "--json").ok().json == []
    os.kill(stage.pid(ident), signal.SIGKILL)
    stage.play(END, END, TICK, END)
    until(lambda: not stage.agent(ident) or stage.agent(ident)["state"] == "exited", lambda: str(stage.agent(ident)))
    back = stage.program("resume", ident, "--json").ok().json
    assert back["conversation"] is True
    until(lambda: ticks(stage) == 3, lambda: stage.screen(back["id"]))
    assert "task parser is ready" in heard[-1], "it remembers"
    stage.until_state(back["id"], "idle")
    stage.program("coord", "stop", "-p", PROJECT).ok()
