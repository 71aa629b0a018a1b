"""`fleet claims` for programs, beside living agents and across crashes; the golden file is in tests/cli/words."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from staging.stage import claim_of, is_alive

from fleet.testing.scene import PROJECT
from fleet.verbs.dispatch.acquire import release

FLEET = str(Path(sys.executable).with_name("fleet"))
OWNER = ("--owner", f"project/{PROJECT}/slug/t")
A, B = "aaaaaaaa", "bbbbbbbb"


def ask(scene, *words: str, given: str = "the prompt\n") -> tuple[int, dict]:
    env = {**os.environ, "FLEET_HOME": scene.home}
    done = subprocess.run([FLEET, "claims", *words], env=env, input=given, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    assert len(lines) == 1, (words, done)
    return done.returncode, json.loads(lines[0])


@pytest.fixture
def scene(either):
    either.forgiven = {"everything"}  # pending dispatches whose program never went on
    with either.fleet() as fleet:
        fleet.tasks.add(project=PROJECT, title="T", slug="t")
    return either


@pytest.mark.req("CLAIMS-2")
def test_the_whole_of_standard_input_is_the_prompt(scene):
    given = "  the first line\n\nthe last, with an é\n\n"
    _code, answer = ask(scene, "acquire-prompt", A, *OWNER, given=given)
    assert Path(answer["path"]).read_bytes() == given.encode()


@pytest.mark.req("CLAIMS-1")
def test_the_four_are_hidden_from_help(scene):
    env = {**os.environ, "FLEET_HOME": scene.home}
    said = subprocess.run([FLEET, "claims", "--help"], env=env, capture_output=True, text=True, check=True).stdout
    assert not any(name in said for name in ("acquire-prompt", "rewrite-prompt", "inspect", "release "))


class DieAt:
    def __init__(self, when: str, effect: str) -> None:
        self._when, self._effect = when, effect

    def before(self, effect: str) -> None:
        if self._when == "before" and effect.startswith(self._effect):
            os.kill(os.getpid(), signal.SIGKILL)

    def during(self, effect: str, pid: int) -> None:
        pass

    def after(self, effect: str) -> None:
        if self._when == "after" and effect.startswith(self._effect):
            os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.req("DEL-3", "DEL-5")
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_rewrite_killed_around_its_file_is_finished_by_the_next_sweep(scene, when):
    ask(scene, "acquire-prompt", A, *OWNER, given="old\n")
    ask(scene, "acquire-prompt", B, "--owner", f"coord/{PROJECT}", given="mine\n")
    child = os.fork()
    if child == 0:
        with scene.fleet() as doomed:
            doomed.funnel.watcher = DieAt(when, "publish inbox/")
            doomed.claims.rewrite_prompt(B, A, "new\n")
        os._exit(0)
    os.waitpid(child, 0)
    inbox = Path(scene.home, "inbox", f"{A}.md")
    assert inbox.read_text() == ("old\n" if when == "before" else "new\n"), "a reader sees one or the other, whole"
    assert ask(scene, "release", A, "--kind", "coord_prompt_inbox")[1]["outcome"] == "already_released"
    with scene.fleet() as fleet:
        fleet.sweep.run(kill=True, phases=frozenset({"orphans"}))
        assert inbox.read_text() == "new\n"
        assert [each.dispatch for each in fleet.claims.list("delivery") if "rewrite" in each.data] == []


@pytest.mark.req("CLAIMS-1", "CLAIMS-4", "EXC-5")
def test_the_session_of_an_agent_at_work_is_not_released(either):
    kind = "tmux_session"
    with either.fleet() as fleet:
        ident = either.dispatch(fleet, "t", "sleep", "1000")
        who = either.launched(fleet, ident)
        code, answer = ask(either, "release", ident, "--kind", kind)
        assert (code, answer["outcome"]) == (10, "not_owned")
        assert ident in answer["message"]
        assert is_alive(who.pid)
        assert fleet.world.tmux.listing().pane(f"fleet-{ident}") is not None
        assert claim_of(fleet, kind, ident).state == "live"
        fleet.dispatches.kill(ident, "a test")
        assert ask(either, "release", ident, "--kind", kind)[1]["outcome"] == "already_released"


@pytest.mark.req("DEL-3")
def test_a_releaser_with_an_old_memory_leaves_the_prompt_that_was_handed_over(scene):
    ask(scene, "acquire-prompt", A, *OWNER)
    with scene.fleet() as fleet:
        remembered = claim_of(fleet, "coord_prompt_inbox", A)
        ask(scene, "acquire-prompt", B, "--owner", f"coord/{PROJECT}", "--preserve")
        path = Path(ask(scene, "rewrite-prompt", B, "--target-old-id", A, given="new\n")[1]["path"])
        assert release(fleet.context, remembered) == ""
        assert claim_of(fleet, "coord_prompt_inbox", B).state == "live"
        assert path.read_text() == "new\n"
