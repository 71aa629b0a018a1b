"""Hooks: what engines tell of their agents arrives, in any order, and neither fails nor holds up the agent."""

import json
import os
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from staging.speaking import agent, call, count_hooks, hook, known, scripted, until_state
from staging.stage import FLEET, answer, raw

from fleet import engines
from fleet.testing.crash.scenarios import until
from fleet.world.files.locks import FileLock


@pytest.mark.req("HOOK-1", "AGENT-1", "OBS-8", "ENG-2")
def test_what_its_hooks_tell_is_in_the_agents_record_with_source_and_age(either):
    with either.fleet() as fleet:
        ident = scripted(either, fleet, "context 45", "hang")
        until(lambda: agent(fleet, ident).context == 45)
        found = agent(fleet, ident)
        assert (found.state, found.source, found.tokens, found.cost) == ("working", "hook", 90_000, 0.5)
        assert found.conversation.startswith("scripted-")
        assert found.launched_at <= found.state_at <= found.heartbeat_at
        shown = either.program("ps").out
        assert ("45 %" in shown, "hook" in shown) == (True, True), shown


@pytest.mark.req("HOOK-2")
def test_a_report_that_says_nothing_new_leaves_no_operation(either):
    with either.fleet() as fleet:
        ident = scripted(either, fleet, "hang")
        before, soon = count_hooks(fleet, ident), fleet.clock.now() + 3_600_000
        raw(fleet, f"UPDATE agents SET heartbeat_at = {soon} WHERE dispatch = '{ident}'")  # no time passes
        for _ in range(3):
            assert hook(either, ident, "PostToolUse", tool_name="Bash", tool_input={"command": "true"}) is None
            hook(either, ident, "fleet-status", context_window={"used_percentage": None})
        assert count_hooks(fleet, ident) == before
        raw(fleet, f"UPDATE agents SET heartbeat_at = {soon - 3_616_000} WHERE dispatch = '{ident}'")
        hook(either, ident, "PostToolUse", tool_name="Bash", tool_input={"command": "true"})
        assert count_hooks(fleet, ident) == before + 1


@pytest.mark.req("HOOK-2", "ENG-2")
def test_a_report_that_arrives_late_changes_nothing(either):
    with either.fleet() as fleet:
        ident = scripted(either, fleet, "hang")
        later = fleet.clock.now() + 3_600_000
        raw(
            fleet, f"UPDATE agents SET state = 'asks', detail = 'may I?', state_at = {later} WHERE dispatch = '{ident}'"
        )
        for event in ("PostToolUse", "UserPromptSubmit", "PreCompact", "Stop", "StopFailure", "SessionEnd"):
            hook(either, ident, event)
        assert (known(fleet, ident).state, known(fleet, ident).detail) == ("asks", "may I?")


@pytest.mark.req("HOOK-2", "ENG-2")
@pytest.mark.parametrize(
    ("event", "told", "state"),
    [
        ("PreCompact", {"trigger": "auto"}, "compacting"),
        ("Notification", {"notification_type": "permission_prompt", "message": "may I?"}, "asks"),
        ("Notification", {"notification_type": "idle_prompt"}, "idle"),
        ("Notification", {"notification_type": "something new"}, "working"),
        ("StopFailure", {"error": "something new", "last_assistant_message": "what?"}, "failed_turn"),
        ("SessionEnd", {"reason": "other"}, "ended"),
        ("NoSuchEvent", {}, "working"),
    ],
)
def test_each_event_means_a_state_and_what_is_not_known_means_none(scene, event, told, state):
    with scene.fleet() as fleet:
        ident = scripted(scene, fleet, "hang")
        assert hook(scene, ident, event, **told) is None
        assert known(fleet, ident).state == state
        assert known(fleet, ident).compacting == (state == "compacting")


@pytest.mark.req("HOOK-2")
def test_an_idle_notice_hides_nothing_that_says_more(scene):
    with scene.fleet() as fleet:
        ident = scripted(scene, fleet, "stop one", "stop two", "hang")
        until_state(fleet, ident, "stopped, no report")
        hook(scene, ident, "Notification", notification_type="idle_prompt")
        assert (agent(fleet, ident).state, agent(fleet, ident).detail) == ("stopped, no report", "two")


@pytest.mark.req("ENG-2")
def test_a_notice_that_asks_is_shown_with_the_command_that_it_names(scene):
    with scene.fleet() as fleet:
        ident = scripted(scene, fleet, "hang")
        until_state(fleet, ident, "working")
        told = {"message": "Tool Shell requires execution", "details": {"command": "git mv a b"}}
        hook(scene, ident, "Notification", notification_type="permission_prompt", **told)
        assert (agent(fleet, ident).state, agent(fleet, ident).detail) == ("asks", "git mv a b")


@pytest.mark.req("HOOK-2")
def test_outside_fleet_a_hook_does_nothing(tmp_path):
    env = {name: value for name, value in os.environ.items() if not name.startswith("FLEET_")}
    done = subprocess.run(
        [FLEET, "hook", "Stop", "--engine", "claude"],
        env=env | {"FLEET_HOME": str(tmp_path / "home"), "HOME": str(tmp_path)},
        input="{}",
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.req("HOOK-2", "OBS-6")
@pytest.mark.parametrize("given", [b"", b"{", b"[1]", b"\xff\xfe", b'{"session_id": 5, "tool_input": "x"}'])
def test_a_hook_never_fails_the_agent_whatever_comes_in(scene, given):
    with scene.fleet() as fleet:
        ident = scripted(scene, fleet, "hang")
        for event in ("Stop", "PostToolUse", "fleet-status"):
            done = subprocess.run(
                [FLEET, "hook", event, "--engine", "scripted"],
                env=scene.around(FLEET_DISPATCH_ID=ident),
                input=given,
                capture_output=True,
                check=False,
            )
            assert (done.returncode, done.stderr) == (0, b"")
        assert agent(fleet, ident).source in {"hook", "screen"}


@pytest.mark.req("HOOK-2", "OBS-6")
def test_what_went_wrong_in_a_hook_is_found_by_doctor(scene):
    with scene.fleet() as fleet:
        ident = scripted(scene, fleet, "hang")
        assert hook(scene, ident, "Stop") is not None
        ok = {each.about: each for each in fleet.views.doctor()}
        assert ok["hooks"].ok, ok["hooks"]
        Path(scene.home, "hooks", "scripted.dialect.json").write_text("nonsense")
        assert hook(scene, ident, "Stop") is None
        found = {each.about: each for each in fleet.views.doctor()}
        assert (found["hooks"].ok, "Stop of scripted" in found["hooks"].says) == (False, True)
        assert found["hooks"].advice


@pytest.mark.req("HOOK-2")
def test_a_hook_of_an_ended_dispatch_or_of_a_stranger_changes_nothing(either):
    with either.fleet() as fleet:
        ident = scripted(either, fleet, "hook SessionStart", "done", "exit 0", begin=False)
        either.ended(fleet)
        before = count_hooks(fleet, ident)
        assert hook(either, ident, "Stop") is None
        assert hook(either, "0badcafe", "Stop") is None
        assert (count_hooks(fleet, ident), count_hooks(fleet, "0badcafe")) == (before, 0)


@pytest.mark.req("HOOK-2")
def test_a_store_that_is_busy_holds_no_agent_up_for_long(scene):
    with scene.fleet() as fleet:
        ident = scripted(scene, fleet, "hang")
        lock = FileLock(f"{scene.home}/fleet.db.writer")
        assert lock.take(30.0)
        try:
            child = call(scene, ident, "Stop")
            assert answer(child).code == 0
        finally:
            lock.give()
        assert known(fleet, ident).state == "working"


@pytest.mark.req("HOOK-1", "HOOK-2")
def test_nothing_is_written_into_the_worktree_or_the_persons_own_settings(scene, tmp_path, monkeypatch):
    person = tmp_path / "person"
    (person / ".claude").mkdir(parents=True)
    (person / ".claude" / "settings.json").write_text('{"mine": true}')
    monkeypatch.setenv("HOME", str(person))
    with scene.fleet() as fleet:
        ident = scripted(scene, fleet, "context 10", "env FLEET_HOOKS", "hang")
        scene.shows(fleet, ident, "FLEET_HOOKS=scripted")
        assert scene.git("status", "--porcelain", cwd=str(scene.tree("t"))) == ""
        assert [path.name for path in person.rglob("*")] == [".claude", "settings.json"]
        assert (person / ".claude" / "settings.json").read_text() == '{"mine": true}'
        assert sorted(os.listdir(f"{scene.home}/hooks")) == ["scripted-any.json", "scripted.dialect.json"]


@pytest.mark.req("HOOK-1")
def test_a_persons_own_status_line_is_shown_inside_ours(scene, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    with scene.fleet() as fleet:
        ident = scripted(scene, fleet, "hang")
        told = json.loads(Path(scene.home, "hooks", "scripted.dialect.json").read_text())
        own = Path(scene.home, "hooks", "scripted.dialect.json")
        own.write_text(json.dumps(told | {"own_status": ["~/mine.json", "~/missing.json"]}))
        (tmp_path / "mine.json").write_text(json.dumps({"statusLine": {"command": "echo my line; cat | wc -c"}}))
        child = call(scene, ident, "fleet-status", cwd=str(tmp_path), context_window={"used_percentage": 33})
        said = answer(child)
        assert (said.code, said.out.splitlines()[0], int(said.out.splitlines()[1]) > 20) == (0, "my line", True)
        until(lambda: agent(fleet, ident).context == 33)


@pytest.mark.req("HOOK-1")
def test_a_status_line_of_the_worktree_is_not_run(scene, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    claude = tomllib.loads((Path(engines.__file__).parent / "data/claude.toml").read_text())["hooks"]["own_status"]
    with scene.fleet() as fleet:
        ident = scripted(scene, fleet, "hang")
        own = Path(scene.home, "hooks", "scripted.dialect.json")
        before = ["{cwd}/.claude/settings.json", "{cwd}/.claude/settings.local.json"]  # as it was said once
        own.write_text(json.dumps(json.loads(own.read_text()) | {"own_status": [*claude, *before]}))
        for place in (scene.tree("t"), scene.tree("t") / "{cwd}"):
            (place / ".claude").mkdir(parents=True)
            for name in ("settings.json", "settings.local.json"):
                (place / ".claude" / name).write_text(json.dumps({"statusLine": {"command": "echo theirs"}}))
        child = call(scene, ident, "fleet-status", cwd=str(scene.tree("t")), context_window={"used_percentage": 33})
        said = answer(child)
        assert (said.code, "theirs" in said.out) == (0, False)
        until(lambda: agent(fleet, ident).context == 33)
        shutil.rmtree(scene.tree("t") / ".claude")
        shutil.rmtree(scene.tree("t") / "{cwd}")


@pytest.mark.req("AGENT-8")
def test_a_turn_that_ends_without_a_report_is_sent_back_once_and_then_needs_the_person(either):
    with either.fleet() as fleet:
        ident = scripted(either, fleet, "stop I think I am done", "stop really, I am", "hang")
        found = until_state(fleet, ident, "stopped, no report")
        assert (found.detail, found.source) == ("really, I am", "hook")
        either.shows(fleet, ident, "turn over")
        shown = fleet.agents.screen(ident, history=True)
        assert shown.count("sent back: ") == 1
        assert "fleet done" in shown
        assert "turn over" in shown


@pytest.mark.req("AGENT-8")
def test_one_with_a_report_may_stop_and_one_with_background_tasks_works(either):
    with either.fleet() as fleet:
        ident = scripted(either, fleet, "hang")
        assert hook(either, ident, "Stop", background_tasks=[{"id": "b1", "status": "running"}]) is None
        assert (agent(fleet, ident).state, agent(fleet, ident).detail) == ("working", "1 background task")
        told = either.around(FLEET_DISPATCH_ID=ident, FLEET_TASK="t", FLEET_PROJECT="p")
        assert either.program("done", env=told).code == 0
        assert hook(either, ident, "Stop", background_tasks=[{"id": "b1", "status": "completed"}]) is None
        assert known(fleet, ident).state == "idle"


@pytest.mark.req("AGENT-3", "OBS-8", "ENG-2")
def test_silent_is_not_dead_and_unknown_hides_nothing_that_is_known(scene):
    with scene.fleet() as fleet:
        ident = scripted(scene, fleet, "say " + "\\n" * 3, "hang")
        scene.shows(fleet, ident, "working: hang")
        ago = 11 * 60_000
        raw(fleet, f"UPDATE agents SET state_at = state_at - {ago}, heartbeat_at = heartbeat_at - {ago}")
        found = agent(fleet, ident)
        assert (found.state, found.source) == ("working", "screen"), "its screen tells what its hooks do not"
        scene.tmux("send-keys", "-t", f"=fleet-{ident}:", "-R")
        scene.tmux("clear-history", "-t", f"=fleet-{ident}:")
        until(lambda: agent(fleet, ident).source != "screen")
        found = agent(fleet, ident)
        assert (found.state, found.source) == ("working", "hook"), "its screen has changed a moment ago"
        assert not [each for each in fleet.sweep.run(kill=True) if ident in each.what and each.done]
