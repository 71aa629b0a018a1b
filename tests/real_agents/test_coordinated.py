"""The real Claude Code under fleet's own coordinator, from a task to its merge with a handoff on the way; and as the coordinator."""

import os
import signal
import threading

import pytest
from real_agents.staging.stage import until

from fleet.testing.scene import PROJECT
from fleet.verbs.views.operations import OperationFilter

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


@pytest.mark.timeout(600)
@pytest.mark.req("HAND-5", "HAND-7")
def test_handoffs_that_bring_nothing_end_under_needs_you(stage):
    with open(f"{stage.scene.home}/config.toml", "a", encoding="utf-8") as file:
        file.write("[handoff]\nwithout_progress = 1\n")
    full = {"tokens": 550_000}
    stage.play({"run": "true"} | full, SAY | {"hold": threading.Event()} | full)
    stage.full_screen("t", "full")
    stage.program("coord", "start", "-p", PROJECT).ok()
    until(lambda: stage.task("t")["status"] == "blocked", lambda: str(stage.task("t")))
    with stage.scene.fleet() as fleet:
        tried = [entry.dispatch for entry in fleet.coord.handoffs(PROJECT)]
        assert [entry.fruitless for entry in fleet.coord.handoffs(PROJECT)] == [1, 2]
        assert [each.kind for each in fleet.agents.list()] == ["coord"]
    assert f"2 handoffs in a row brought no commit, artifact or changed plan (agents {', '.join(tried)}" in str(
        stage.task("t")["reason"]
    )
    (need,) = stage.program("status", "--json").ok().json["needs_you"]
    assert (need["kind"], need["slug"]) == ("handoffs", "t")
    stage.program("coord", "stop", "-p", PROJECT).ok()


@pytest.mark.timeout(600)
@pytest.mark.req("LIMIT-1", "ENG-7")
def test_after_a_repaired_login_one_continues_first_and_then_the_other(stage, heard):
    stage.prefer({"env": {"CLAUDE_CODE_MAX_RETRIES": "0"}})  # else it tries ten times by itself
    stage.play({"error": 401, "headers": {"x-should-retry": "false"}})
    idents = [stage.full_screen(slug, "full") for slug in ("t", "u")]
    for ident in idents:
        stage.until_state(ident, "login")
    (hold,) = stage.program("status", "--json").ok().json["holds"]
    assert (hold["engine"], hold["kind"]) == ("claude", "login")
    stage.program("coord", "start", "-p", PROJECT).ok()
    before = len(heard)
    stage.play(REPORT, SAY)
    lifted = stage.program("limits", "lift", "claude", "--json").ok().json
    assert (len(lifted["continued"]), len(lifted["waiting"]), lifted["unattended"]) == (1, 1, [])
    assert {*lifted["continued"], *lifted["waiting"]} == set(idents)
    for slug, ident in zip(("t", "u"), idents, strict=True):
        until(lambda: stage.standing(slug) != "in_progress", lambda: stage.screen(ident))  # noqa: B023
    assert len(heard) > before
    stage.program("coord", "stop", "-p", PROJECT).ok()


def ticks(stage) -> int:
    """How many ticks the coordinator has done."""
    with stage.scene.fleet() as fleet:
        operations = fleet.operations.list(OperationFilter(project=PROJECT), limit=200)
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
