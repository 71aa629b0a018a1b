"""What is looked at before the real Claude Code is started, and what does not reach it."""

import os
from pathlib import Path

import pytest
from real_agents.staging.stage import until

from fleet.engines.reader import BUILT_IN
from fleet.testing.scene import PROJECT

FULL = ("--engine", "claude", "--autonomy", "full")
SAY = {"say": "Done."}
OF_A_PARENT = {
    "CLAUDECODE": "of-a-parent",
    "CLAUDE_CODE_CHILD_SESSION": "1",
    "CLAUDE_CODE_ENTRYPOINT": "of-a-parent",
    "CLAUDE_CODE_SESSION_ID": "of-a-parent",
    "CLAUDE_CODE_OF_A_PARENT": "of-a-parent",
    "AI_AGENT": "of-a-parent",
}


def refused(stage, *words, says):
    """Refused with 14, and nothing made: no session, no server, no worktree, no branch; the task can still be taken."""
    stage.add("t")
    stage.program("dispatch", "t", "-p", PROJECT, *words).refused(14, *says)
    assert stage.scene.leftovers() == []
    assert not Path(stage.scene.home, "tmux.sock").exists()
    assert stage.scene.git("branch", "--list", "worker/*") == ""
    assert (stage.task("t")["status"], stage.task("t")["assignee"]) == ("open", None)


@pytest.mark.req("ENG-6")
@pytest.mark.parametrize("autonomy", ["ask", "edits", "allowlist", "full"])
def test_a_repository_that_is_not_trusted_is_refused_before_anything_is_made(stage, autonomy):
    stage.trust("/somewhere/else")
    refused(stage, "--engine", "claude", "--autonomy", autonomy, says=["trust", stage.scene.repository])


@pytest.mark.req("ENG-6")
def test_a_program_that_was_never_set_up_is_refused(stage):
    stage.trust(stage.scene.repository, hasCompletedOnboarding=False)
    refused(stage, *FULL, says=["never set up"])


@pytest.mark.req("ENG-6")
def test_without_the_look_beforehand_the_dialog_would_come(stage):
    """The twin: an engine file without its [[before]] runs into the very dialog, which is recognised and not answered."""
    stage.trust("/somewhere/else")
    stage.play({"run": "touch answered.txt"}, SAY)
    head, _, rest = (BUILT_IN / "claude.toml").read_text(encoding="utf-8").partition("[[before]]")
    mine = Path(stage.scene.home, "engines", "careless.toml")
    mine.parent.mkdir()
    mine.write_text(head + rest[rest.index("[[screen]]") :], encoding="utf-8")
    ident = stage.dispatch("t", "--engine", "careless", "--autonomy", "full")
    assert "trust" in stage.until_state(ident, "dialog")["detail"]
    stage.program("stop", ident).ok()
    assert not (stage.worktree("t") / "answered.txt").exists()


@pytest.mark.req("ENG-5")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root is refused full autonomy")
@pytest.mark.parametrize("declared", [None, "", "0"])
def test_root_without_a_sandbox_is_refused_full_autonomy(stage, monkeypatch, declared):
    monkeypatch.delenv("IS_SANDBOX")
    if declared is not None:
        monkeypatch.setenv("IS_SANDBOX", declared)
    refused(stage, *FULL, says=["root", "IS_SANDBOX=1"])


@pytest.mark.req("ENG-5")
def test_an_autonomy_that_was_not_chosen_is_refused(stage):
    refused(stage, "--engine", "claude", says=["autonomy"])


@pytest.mark.req("ENG-1")
def test_a_missing_program_is_told_before_anything_is_made(stage, monkeypatch):
    monkeypatch.setenv("PATH", os.defpath)
    refused(stage, *FULL, says=["claude", "npm install"])


@pytest.mark.req("ENG-3")
def test_what_a_parent_agent_left_does_not_reach_it(stage, monkeypatch):
    for name, value in OF_A_PARENT.items():
        monkeypatch.setenv(name, value)
    told = stage.person / "told.txt"
    stage.play({"run": f"env > {told}.new && mv {told}.new {told}"}, SAY)
    ident = stage.full_screen("t", "full")
    stage.until_state(ident, "stopped, no report")
    # Its tools see what it sets itself, so values tell; its own environment is free of all of them.
    seen = dict(line.partition("=")[::2] for line in told.read_text(encoding="utf-8").splitlines())
    assert seen["FLEET_TASK"] == "t"
    assert "of-a-parent" not in seen.values()
    own = stage.environment_of(ident)
    assert own["FLEET_DISPATCH_ID"] == ident
    assert OF_A_PARENT.keys() & own.keys() == set()
    # A child session would keep no transcript.
    until(lambda: list((stage.person / ".claude" / "projects").glob("*/*.jsonl")))
