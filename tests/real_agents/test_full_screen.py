"""The real Claude Code, full screen in tmux: started by `fleet dispatch`, at each autonomy, read from its screen, ended, settled."""

import os
import signal
import threading

import pytest
from real_agents.staging.stage import until
from screen.driving import Terminal

from fleet.testing.scene import PROJECT

COMMIT = {"run": 'git add out.txt && git commit --quiet --message "Add out"'}
LOG = {"run": 'fleet log "half-way"'}
REPORT = {"run": "fleet done"}
SAY = {"say": "Done."}
# Its own status after SIGTERM.
NOT_KILLED = 128 + signal.SIGTERM


def committed(stage, slug):
    """What the agent committed on its branch."""
    return stage.scene.git("log", "--format=%s", f"fleet/main..worker/{slug}").splitlines()


def reported_and_swept(stage, ident, slug):
    """Wait for its report, then for the sweep that ends what lives on after it."""
    stage.until_state(ident, "reported done")
    assert committed(stage, slug) == ["Add out"]
    assert [each.message for each in stage.task(slug)["log"]] == ["half-way"]
    with stage.scene.fleet() as fleet:
        swept = []
        until(lambda: swept.extend(fleet.sweep.run(kill=True)) or not fleet.agents.list(), lambda: str(swept))
    assert [found.why for found in swept if f"dispatch {ident}" in found.what] == ["it lives on after its report"]
    assert stage.standing(slug) == "to merge"


@pytest.mark.req("ENG-2", "ENG-5", "ENG-6", "SWEEP-9", "MERGE-1")
@pytest.mark.parametrize("autonomy", ["allowlist", "full"])
def test_it_works_unasked_reports_is_ended_by_the_sweep_and_merged(stage, autonomy):
    stage.play(stage.writes("t"), COMMIT, LOG, REPORT, SAY)
    ident = stage.full_screen("t", autonomy)
    reported_and_swept(stage, ident, "t")
    until(stage.ended_sessions)
    assert stage.journal(ident)["exit_status"] == NOT_KILLED
    with stage.scene.fleet() as fleet:
        fleet.merge.task(project=PROJECT, slug="t")
        fleet.sweep.run(kill=True)
        assert fleet.sweep.run(kill=True) == []
    assert stage.scene.git("show", "fleet/main:out.txt") == "hello"
    assert stage.scene.leftovers() == []


@pytest.mark.req("ENG-2", "ENG-5", "ENG-6")
@pytest.mark.parametrize("autonomy", ["ask", "edits"])
def test_what_a_person_allows_in_the_programs_own_settings_is_not_asked(stage, autonomy):
    stage.prefer({"permissions": {"allow": ["Write", "Bash(git:*)", "Bash(fleet:*)"]}})
    stage.play(stage.writes("t"), COMMIT, LOG, REPORT, SAY)
    reported_and_swept(stage, stage.full_screen("t", autonomy), "t")


@pytest.mark.req("ENG-2", "ENG-5", "ENG-6")
@pytest.mark.parametrize(("autonomy", "question"), [("ask", "out.txt"), ("edits", "git tag asked")])
def test_it_asks_before_what_its_autonomy_does_not_cover(stage, autonomy, question):
    stage.play(stage.writes("t"), {"run": "git tag asked"}, SAY)
    ident = stage.full_screen("t", autonomy)
    agent = stage.until_state(ident, "asks")
    assert agent["source"] == "hook"
    assert agent["autonomy"] == autonomy
    assert question in agent["detail"]
    assert (stage.worktree("t") / "out.txt").exists() == (autonomy == "edits")
    assert committed(stage, "t") == []
    # Nothing is typed: the question stands until the agent is ended, and whoever asked it is not held up by it.
    stage.program("kill", ident, "--reason", "nobody answers").ok()
    assert stage.task("t")["status"] == "failed"
    assert committed(stage, "t") == []


@pytest.mark.req("ENG-5")
def test_what_is_not_on_the_allowlist_is_refused_without_a_question(stage):
    stage.play({"run": "touch unlisted.txt && curl http://127.0.0.1:9"}, SAY)
    ident = stage.full_screen("t", "allowlist")
    stage.until_state(ident, "stopped, no report")
    assert not (stage.worktree("t") / "unlisted.txt").exists()


@pytest.mark.req("ENG-2", "ENG-6", "AGENT-9")
def test_it_works_then_stops_without_a_report_and_is_stopped_with_its_own_signal(stage):
    hold = threading.Event()
    stage.play(stage.writes("t"), COMMIT, SAY | {"hold": hold})
    ident = stage.full_screen("t", "full")
    assert stage.until_state(ident, "working")["source"] == "hook"
    until(lambda: committed(stage, "t"))
    assert stage.agent(ident)["state"] == "working"
    hold.set()
    found = stage.until_state(ident, "stopped, no report")
    assert (found["source"], found["detail"]) == ("hook", "Done.")
    stage.program("stop", ident).ok()
    assert stage.ended_sessions()
    assert stage.journal(ident)["exit_status"] == NOT_KILLED
    assert (stage.task("t")["status"], stage.journal(ident)["exec_state"]) == ("blocked", "blocked")
    assert stage.processes_of(ident) == []
    assert "Done." in stage.screen(ident)
    assert committed(stage, "t") == ["Add out"]


@pytest.mark.req("ENG-2")
@pytest.mark.parametrize(("status", "state"), [(529, "retrying"), (400, "failed_turn")])
def test_an_error_of_the_api_is_never_read_as_finished(stage, status, state):
    stage.play({"error": status})
    ident = stage.full_screen("t", "allowlist")
    assert str(status) in stage.until_state(ident, state)["detail"] or state == "retrying"
    stage.program("stop", ident).ok()
    assert stage.task("t")["status"] == "blocked"


@pytest.mark.req("AGENT-3", "AGENT-5")
def test_an_agent_that_is_killed_from_outside_is_settled_without_a_sweep(stage):
    hold = threading.Event()
    stage.play(SAY | {"hold": hold})
    ident = stage.full_screen("t", "full")
    stage.until_state(ident, "working")
    os.kill(stage.pid(ident), signal.SIGKILL)
    assert stage.until_settled("t") == "failed"
    assert stage.processes_of(ident) == []


@pytest.mark.req("TUI-4", "TUI-6", "ASK-1")
def test_a_person_approves_joins_and_leaves_it_from_the_screen(stage):
    stage.play(stage.writes("t"), {"run": "git tag asked"}, {"run": "git tag again"}, COMMIT, REPORT, SAY)
    ident = stage.full_screen("t", "edits")
    stage.until_state(ident, "asks")
    terminal = Terminal(stage.scene, columns=140, rows=40)
    try:
        terminal.runs("fleet")
        terminal.sees("needs you 1", "git tag asked", "y approve   ! deny")
        terminal.presses("y")
        terminal.sees("git tag again", "y approve   ! deny")
        terminal.presses("o")
        terminal.sees("Ctrl+Q detaches")
        terminal.presses("C-q")
        terminal.sees("q quit", "git tag again")
        terminal.presses("y")
        terminal.until(lambda: sorted(stage.scene.git("tag").split()) == ["again", "asked"], "both are allowed")
        terminal.presses("q")
        terminal.sees("own-shell>")
    finally:
        terminal.close()
