"""Living with the real Claude Code: its hooks arrive, it is answered, told and woken, and nothing is typed."""

import json
import threading

import pytest
from real_agents.staging.stage import Model, until
from staging.stage import raw

from fleet.api.fleet import Fleet
from fleet.store import queries as q
from fleet.testing.scene import PROJECT

SAY = {"say": "Done."}
REPORT = {"run": "fleet done"}
COMMIT = {"run": 'git add out.txt && git commit --quiet --message "Add out"'}


def reset_rest(fleet: Fleet, ident: str) -> None:
    """As if the failed turn had rested long enough."""
    raw(fleet, f"UPDATE agents SET state_at = state_at - 3600000 WHERE dispatch = '{ident}'")


@pytest.mark.req("HOOK-1", "AGENT-1", "ENG-2")
def test_its_hooks_arrive_with_context_and_conversation_and_its_own_status_line_is_shown(stage):
    stage.prefer({"statusLine": {"type": "command", "command": "cat >/dev/null; echo a line of my own"}})
    hold = threading.Event()
    stage.play({"run": "true", "tokens": 450_000}, SAY | {"hold": hold, "tokens": 450_000})
    ident = stage.full_screen("t", "full")
    until(lambda: stage.agent(ident)["context"] == 45, lambda: str(stage.agent(ident)))
    found = stage.agent(ident)
    assert (found["state"], found["source"], found["tokens"]) == ("working", "hook", 450_000)
    assert len(found["conversation"]) == 36
    assert found["cost"] > 0
    until(lambda: "a line of my own" in stage.screen(ident), lambda: stage.screen(ident))
    assert stage.scene.git("status", "--porcelain", cwd=str(stage.worktree("t"))) == ""
    assert sorted(path.name for path in (stage.person / ".claude").glob("settings*")) == ["settings.json"]
    hold.set()
    stage.until_state(ident, "stopped, no report")


@pytest.mark.req("AGENT-3")
def test_a_model_call_that_hangs_is_silent_though_the_screen_is_animated(stage):
    with open(f"{stage.scene.home}/config.toml", "a", encoding="utf-8") as file:
        file.write('silent_after = "5s"\n')
    hold = threading.Event()
    stage.play({"run": "true"}, SAY | {"hold": hold})
    ident = stage.full_screen("t", "full")
    found = stage.until_state(ident, "silent")
    assert "its process lives" in found["detail"]
    (need,) = stage.program("status", "--json").ok().json["needs_you"]
    assert (need["kind"], f"`fleet stop {ident}`" in need["text"]) == ("silent", True)
    hold.set()
    stage.until_state(ident, "stopped, no report")


@pytest.mark.req("ASK-1", "HOOK-1")
@pytest.mark.parametrize("verdict", ["approve", "deny"])
def test_a_permission_is_answered_from_outside(stage, heard, verdict):
    stage.play(stage.writes("t"), COMMIT, REPORT, SAY)
    stage.prefer({"permissions": {"allow": ["Bash(fleet:*)"]}})
    ident = stage.full_screen("t", "ask")
    found = stage.until_state(ident, "asks")
    assert (found["source"], "out.txt" in found["detail"]) == ("hook", True)
    (asked,) = stage.program("questions", "--json").ok().json
    assert json.loads(asked["command"])["content"] == "hello\n"
    assert "\n+hello\n" in asked["change"], "what would be written, as a diff"
    more = ["--reason", "not this file"] if verdict == "deny" else []
    assert stage.program(verdict, asked["id"], *more, "--json").ok().json["taken"] is True
    stage.until_state(ident, "reported done")
    assert (stage.worktree("t") / "out.txt").exists() == (verdict == "approve")
    assert ("not this file" in heard[-1]) == (verdict == "deny")
    assert stage.program("approve", asked["id"]).code == 13


@pytest.mark.req("AGENT-5")
def test_a_forgotten_commit_is_named_to_it_and_it_commits_and_reports(stage, heard):
    stage.play(stage.writes("t"), REPORT, COMMIT, REPORT, SAY)
    ident = stage.full_screen("t", "full")
    stage.until_state(ident, "reported done")
    assert "t is not reported as done: its worktree has uncommitted changes: out.txt" in heard[2]
    assert stage.scene.git("log", "--format=%s", "fleet/main..worker/t") == "Add out"


@pytest.mark.req("ENG-2")
def test_a_model_of_the_task_is_the_one_that_answers(stage, monkeypatch):
    asked: list[str] = []
    answer = Model.answer

    def listening(self, body, turn):
        asked.extend([body["model"]] if body.get("tools") else [])
        return answer(self, body, turn)

    monkeypatch.setattr(Model, "answer", listening)
    stage.play(REPORT, SAY)
    stage.add("t")
    stage.program("task", "edit", "t", "-p", PROJECT, "--model", "claude-haiku-4-5").ok()
    words = ("-p", PROJECT, "--json", "--engine", "claude", "--autonomy", "full")
    ident = stage.program("dispatch", "t", *words).ok().json["id"]
    stage.until_state(ident, "reported done")
    assert set(asked) == {"claude-haiku-4-5"}
    assert stage.agent(ident)["model"] == "claude-haiku-4-5"


@pytest.mark.req("ASK-1", "ENG-5")
def test_what_is_approved_for_always_is_asked_once_and_a_commit_never(stage):
    made = {"run": "mkdir -p made"}
    commit = {"run": "git commit --quiet --allow-empty --message work"}
    stage.play(commit, made, made, REPORT, SAY)
    ident = stage.full_screen("t", "ask")
    stage.until_state(ident, "asks")
    (asked,) = stage.program("questions", "--json").ok().json
    assert asked["command"] == "mkdir -p made", "the commit before it was not asked for"
    assert stage.program("approve", asked["id"], "--always", "--json").ok().json["always"] == "mkdir -p made"
    stage.until_state(ident, "reported done")
    assert stage.program("questions", "--json").ok().json == []


@pytest.mark.req("MSG-1", "HOOK-1")
@pytest.mark.parametrize("boundary", ["tool", "turn"])
def test_a_message_is_given_at_the_next_boundary_and_obeyed_once(stage, heard, boundary):
    hold = threading.Event()
    middle = {"run": "true", "hold": hold} if boundary == "tool" else SAY | {"hold": hold}
    stage.play({"run": "true"}, middle, REPORT, SAY)
    ident = stage.full_screen("t", "full")
    until(lambda: len(heard) == 2, lambda: str(len(heard)))
    (sent,) = stage.program("message", ident, "mind the gap", "--json").ok().json
    assert sent["delivered"] is False
    hold.set()
    until(lambda: any(sent["id"] in body for body in heard), lambda: stage.screen(ident))
    with stage.scene.fleet() as fleet:
        until(lambda: not fleet.store.read(lambda rows: q.waiting_messages(rows, dispatch=ident)))
    until(lambda: stage.agent(ident).get("state") in {"reported done", "stopped, no report", "idle"})
    assert heard[-1].count(f"[fleet message {sent['id']}]") == 1


@pytest.mark.req("MSG-1", "AGENT-8")
def test_an_idle_one_is_woken_without_a_key_being_pressed(stage, heard):
    stage.play(SAY)
    ident = stage.full_screen("t", "full")
    stage.until_state(ident, "stopped, no report")
    assert sum("stopped without a report" in body for body in heard) == 1, "sent back once"
    (sent,) = stage.program("message", ident, "go on, please", "--json").ok().json
    assert (sent["delivered"], sent["how"]) == (True, "woken")
    until(lambda: any(sent["id"] in body for body in heard), lambda: stage.screen(ident))
    assert heard[-1].count(f"[fleet message {sent['id']}]") == 1


@pytest.mark.req("ENG-7")
def test_a_turn_that_the_api_failed_is_continued(stage, heard):
    stage.prefer({"env": {"CLAUDE_CODE_MAX_RETRIES": "0"}})  # else it tries ten times by itself
    stage.play({"error": 529, "headers": {"x-should-retry": "false"}, "times": 1}, REPORT, SAY)
    ident = stage.full_screen("t", "full")
    found = stage.until_state(ident, "failed_turn")
    error = found["detail"].partition(":")[0]
    assert (found["source"], error in {"overloaded", "server_error"}) == ("hook", True), found
    with stage.scene.fleet() as fleet:
        assert fleet.agents.tend(PROJECT) == []
        reset_rest(fleet, ident)
        assert len(fleet.agents.tend(PROJECT)) == 1
    stage.until_state(ident, "reported done")
    assert heard[-1].count(f"ended by an error of the API ({error})") == 1


@pytest.mark.req("AGENT-1", "MSG-1")
def test_it_is_parked_alive_when_its_budget_is_spent_and_goes_on_when_more_is_allowed(stage):
    with open(f"{stage.scene.home}/config.toml", "a", encoding="utf-8") as file:
        file.write("[limits]\ncost_task = 0.2\n")
    stage.prefer({"model": "claude-sonnet-4-5"})
    stage.play(SAY | {"tokens": 90_000, "times": 1}, REPORT, SAY)
    ident = stage.full_screen("t", "full")
    found = stage.until_state(ident, "over budget")
    assert found["used"].dollars >= 0.27, "90 000 tokens at three dollars a million"
    assert "`fleet limits allow 1 t -p" in found["detail"]
    stage.program("dispatch", "t", "-p", PROJECT, "--engine", "claude").refused(14)
    (need,) = stage.program("status", "--json").ok().json["needs_you"]
    assert need["kind"] == "over budget"
    assert stage.program("limits", "allow", "5", "t", "-p", PROJECT, "--json").ok().json["continued"] == [ident]
    stage.until_state(ident, "reported done")


@pytest.mark.req("SEC-3", "ENG-4", "HOOK-2")
def test_in_a_sandbox_it_asks_is_answered_is_told_commits_and_reports(stage, heard):
    stage.serve('agents.sandbox = "bwrap"\n')
    secret = stage.person / ".ssh" / "id"
    secret.parent.mkdir()
    secret.write_text("a key of mine")
    looks = (
        f"cat {secret} {stage.scene.home}/fleet.db; ls -A {stage.scene.home}/projects/{PROJECT}/worktrees; echo looked"
    )
    stage.play({"run": looks}, stage.writes("t"), COMMIT, {"run": "fleet log inside"}, REPORT, SAY)
    ident = stage.full_screen("t", "ask")
    found = stage.until_state(ident, "asks")
    assert found["sandbox"] == "bwrap"
    assert stage.program("message", ident, "go on").ok().code == 0
    for name in (".ssh/id", "out.txt"):
        until(lambda: name in str(stage.program("questions", "--json").json), lambda: stage.screen(ident))  # noqa: B023
        (asked,) = stage.program("questions", "--json").ok().json
        assert stage.program("approve", asked["id"], "--json").ok().json["taken"] is True
    stage.until_state(ident, "reported done")
    assert [entry.message for entry in stage.task("t")["log"]] == ["inside"]
    assert "Add out" in stage.scene.git("log", "--format=%s", "worker/t")
    assert "a key of mine" not in "".join(heard)
    assert "looked" in heard[-1]
    assert "go on" in heard[-1]
    assert (stage.person / ".claude/projects").is_dir(), "its conversation stays"


@pytest.mark.req("SEC-3", "ENG-5", "AGENT-4")
def test_in_a_sandbox_it_is_asked_to_exit_and_goes_by_itself(stage, monkeypatch):
    monkeypatch.delenv("IS_SANDBOX")
    stage.serve('agents.sandbox = "bwrap"\nagents.sandbox_write = ["~/ended"]\n', exit_grace="60s")
    (stage.person / "ended").mkdir()
    ended = {"type": "command", "command": f"cat >> {stage.person}/ended/ended.jsonl"}
    stage.prefer({"hooks": {"SessionEnd": [{"hooks": [ended]}]}})
    hold = threading.Event()
    stage.play(SAY | {"hold": hold})
    ident = stage.full_screen("t", "full")
    stage.until_state(ident, "working")
    assert stage.program("stop", ident, "--json").ok().json["settled"] is True
    assert (stage.person / "ended/ended.jsonl").exists(), "its own hook at the end has run: it was not killed"
    hold.set()
    assert stage.processes_of(ident) == []
