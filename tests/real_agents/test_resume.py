"""The real Claude Code, killed in the middle of its task: resumed in its own conversation, and finishing."""

import os
import signal
import threading
from pathlib import Path

import pytest
from real_agents.staging.stage import until
from real_agents.staging.stub_messages_api import Script, results_in

from fleet.testing.scene import PROJECT

COMMIT = {"run": 'git add out.txt && git commit --quiet --message "Add out"'}
REPORT = {"run": "fleet done"}
SAY = {"say": "Done."}


class Listening(Script):
    """Keeps what the agent sends, but for its requests without tools, which are no turns."""

    def __init__(self, turns):
        super().__init__(turns)
        self.bodies = []

    def turn_for(self, body):
        if body.get("tools"):
            self.bodies.append(body)
        return super().turn_for(body)


def kept(stage) -> list[Path]:
    """The files in which it keeps its conversations."""
    return list((stage.person / ".claude" / "projects").glob("*/*.jsonl"))


def transcripts(stage) -> set[str]:
    return {path.stem for path in kept(stage)}


def conversation_of(stage, ident: str) -> str:
    """As its command line names it."""
    words = Path(f"/proc/{stage.pid(ident)}/cmdline").read_text().split("\0")
    return next(words[at + 1] for at, word in enumerate(words) if word in {"--session-id", "--resume"})


def killed(stage, ident: str, slug: str) -> None:
    os.kill(stage.pid(ident), signal.SIGKILL)
    assert stage.until_settled(slug) in {"failed", "blocked"}


def finished(stage, slug: str) -> list[str]:
    """Wait for the report and let the sweep end whoever made it; what was committed."""
    with stage.scene.fleet() as fleet:
        until(
            lambda: fleet.sweep.run(kill=True) is not None and not fleet.agents.list(), lambda: str(fleet.agents.list())
        )
    return stage.scene.git("log", "--format=%s", f"fleet/main..worker/{slug}").splitlines()


@pytest.mark.req("RES-10")
def test_killed_in_the_middle_of_its_task_it_goes_on_in_its_own_conversation_and_finishes(stage):
    hold = threading.Event()
    stage.play(stage.writes("t"), COMMIT | {"hold": hold})
    old = stage.full_screen("t", "full")
    until(lambda: "tool_result" in "".join(path.read_text() for path in kept(stage)))
    talk = conversation_of(stage, old)
    assert transcripts(stage) == {talk}
    killed(stage, old, "t")
    hold.set()

    heard = Listening([stage.writes("t"), COMMIT, REPORT, SAY])
    stage._model.script = heard
    done = stage.program("resume", old, "--json").ok().json
    assert (done["predecessor"], done["conversation"], done["project"]) == (old, True, PROJECT)
    until(lambda: heard.bodies, lambda: stage.screen(done["id"]))
    assert conversation_of(stage, done["id"]) == talk
    assert results_in(heard.bodies[0]) == 1, "it remembers the tool that it used before it was killed"
    assert old in str(heard.bodies[0]["messages"][-1]), "it is told what happened"
    assert finished(stage, "t") == ["Add out"]
    assert transcripts(stage) == {talk}
    journal = stage.journal(done["id"])
    assert (journal["report"], journal["exec_state"]) == ("done", "done")


@pytest.mark.req("RES-10")
def test_killed_before_its_first_turn_it_starts_again_and_finishes(stage):
    hold = threading.Event()
    stage.play(SAY | {"hold": hold})
    old = stage.full_screen("t", "full")
    with stage.scene.fleet() as fleet:
        until(lambda: fleet.context.dispatch(old).process)
    killed(stage, old, "t")
    hold.set()
    before = transcripts(stage)
    stage.play(stage.writes("t"), COMMIT, REPORT, SAY)
    done = stage.program("resume", "t", "-p", PROJECT, "--json").ok().json
    assert done["conversation"] == bool(before), "a conversation that was never kept is not asked for"
    assert finished(stage, "t") == ["Add out"]
