"""The real Claude Code under fleet's own coordinator: from a task to its merge, with a handoff on the way."""

import threading

import pytest
from real_agents.staging.stage import until

from fleet.testing.scene import PROJECT

WORK = {"run": "echo hello > out.txt && git add . && git commit -qm 'Add out'", "tokens": 550_000}
REPORT = {"run": "fleet done"}
SAY = {"say": "Done."}


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
