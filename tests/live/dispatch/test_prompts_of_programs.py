"""`fleet claims` for programs: what is refused changes nothing, what was killed is taken up again."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
from staging.stage import FLEET, claim_of

from fleet.testing.scene import PROJECT
from fleet.verbs.agents.prompts import WantedPrompt

A, B = "aaaaaaaa", "bbbbbbbb"
OWNER = ("--owner", f"project/{PROJECT}/slug/t")
COORD = ("--owner", f"coord/{PROJECT}")


def ask(scene, *words: str, given: bytes = b"the prompt\n") -> tuple[int, dict]:
    done = subprocess.run([FLEET, "claims", *words], env=scene.around(), input=given, capture_output=True, check=False)
    (line,) = done.stdout.splitlines()
    return done.returncode, json.loads(line)


@pytest.fixture
def scene(scene):
    scene.forgiven = {"everything"}  # pending dispatches whose program never went on
    with scene.fleet() as fleet:
        fleet.tasks.add(project=PROJECT, title="T", slug="t")
    return scene


@pytest.mark.req("CLAIMS-3", "CLAIMS-4")
@pytest.mark.parametrize("command", [("acquire-prompt", B, *OWNER), ("rewrite-prompt", B, "--target-old-id", A)])
def test_a_prompt_that_is_no_text_is_refused_and_nothing_is_written(scene, command):
    with scene.fleet() as fleet:
        before = fleet.operations.newest()
        code, answer = ask(scene, *command, given=b"caf\xe9\n")
        assert (code, answer["dispatch_id"], "UTF-8" in answer["message"]) == (2, B, True)
        assert (fleet.operations.newest(), fleet.claims.list(), fleet.files.names("inbox")) == (before, [], [])


class DieBefore:
    """At one effect."""

    def before(self, effect: str) -> None:
        if effect.startswith("publish inbox/"):
            os.kill(os.getpid(), signal.SIGKILL)

    def during(self, effect: str, pid: int) -> None:
        pass

    def after(self, effect: str) -> None:
        pass


@pytest.mark.req("DEL-5", "CLAIMS-4")
def test_a_prompt_whose_program_was_killed_before_its_file_is_acquired_the_second_time(scene):
    child = os.fork()
    if child == 0:
        with scene.fleet() as doomed:
            doomed.funnel.watcher = DieBefore()
            doomed.claims.acquire_prompt(A, "first\n", WantedPrompt(owner=OWNER[1]))
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    inbox = Path(scene.home, "inbox", f"{A}.md")
    with scene.fleet() as fleet:
        assert (claim_of(fleet, "coord_prompt_inbox", A).state, inbox.exists()) == ("allocating", False)
        code, answer = ask(scene, "acquire-prompt", A, *OWNER, given=b"second\n")
        assert (code, answer["outcome"]) == (0, "acquired")
        assert inbox.read_text() == "second\n"
        (claim,) = fleet.claims.list(kind="coord_prompt_inbox")
        assert (claim.dispatch, claim.state) == (A, "live")


@pytest.mark.req("DEL-3", "CLAIMS-4")
def test_nothing_is_handed_over_to_a_dispatch_that_has_ended(scene):
    ask(scene, "acquire-prompt", A, *COORD, given=b"old\n")
    with scene.fleet() as fleet:
        ended = scene.killed(fleet, "t")
        code, answer = ask(scene, "rewrite-prompt", ended, "--target-old-id", A, given=b"new\n")
        assert (code, answer["outcome"]) == (13, "superseded")
        assert claim_of(fleet, "coord_prompt_inbox", A).state == "live"
    assert Path(scene.home, "inbox", f"{A}.md").read_text() == "old\n"


@pytest.mark.req("CLAIMS-4", "ADO-9")
@pytest.mark.parametrize(
    "command",
    [
        ("release", A, "--kind", "worktree"),
        ("acquire-prompt", A, *OWNER, "--kind", "nonsense"),
        ("acquire-prompt", A, *OWNER, "--kind", "coord"),
        ("acquire-prompt", A, *COORD, "--kind", "worker"),
    ],
    ids=["a thing of its task", "no kind", "a coordinator with a task", "a worker without one"],
)
def test_a_kind_that_does_not_fit_is_bad_input(scene, command):
    if command[0] == "release":
        ask(scene, "acquire-prompt", A, *OWNER)
    with scene.fleet() as fleet:
        before = fleet.operations.newest()
        code, answer = ask(scene, *command)
        assert (code, answer["dispatch_id"]) == (2, A), answer
        assert fleet.operations.newest() == before
