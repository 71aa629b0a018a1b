"""The real Claude Code in print mode, as any command: its exit status and its commits settle the task."""

import pytest

COMMIT = {"run": 'git add out.txt && git commit --quiet --message "Add out"'}
SAY = {"say": "Done."}
PRINT = ("--engine", "shell", "--", "claude", "-p", "write out.txt", "--dangerously-skip-permissions")


@pytest.mark.req("AGENT-5")
def test_exit_0_with_a_commit_is_done(stage):
    stage.play(stage.writes("t"), COMMIT, SAY)
    ident = stage.dispatch("t", *PRINT)
    assert stage.until_settled("t") == "to merge"
    assert stage.journal(ident)["exit_status"] == 0
    assert stage.scene.git("show", "worker/t:out.txt") == "hello"
    assert "Done." in stage.screen(ident)


@pytest.mark.req("AGENT-5")
def test_exit_0_without_work_is_blocked(stage):
    stage.play(SAY)
    ident = stage.dispatch("t", *PRINT)
    assert stage.until_settled("t") == "blocked"
    assert stage.journal(ident)["exit_status"] == 0


@pytest.mark.req("AGENT-5")
def test_a_failed_call_of_the_api_is_failed(stage):
    stage.play({"error": 400})
    ident = stage.dispatch("t", *PRINT)
    assert stage.until_settled("t") == "failed"
    assert stage.journal(ident)["exit_status"] == 1


@pytest.mark.req("AGENT-5")
def test_its_own_report_counts_more_than_its_exit(stage):
    stage.play({"run": 'fleet block --reason "no access"'}, SAY)
    stage.dispatch("t", *PRINT)
    assert stage.until_settled("t") == "blocked"
    assert "no access" in str(stage.task("t"))
