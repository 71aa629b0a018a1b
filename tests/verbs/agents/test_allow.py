"""Approved permanently: kept in the home by project, asked for no more, shown, and gone with the project."""

import json
import stat
from pathlib import Path

import pytest

from fleet.api.hooking import Hooking
from fleet.errors.families import BadInput
from fleet.errors.given import BadSetting
from fleet.errors.superseded import AnsweredBefore
from fleet.model.agents.allow import ALLOWED_VARIABLE, Allowed
from fleet.model.agents.dialect import Dialect
from fleet.model.agents.roles import REVIEWER, WORKER
from fleet.testing.simulated import SimulatedScene
from fleet.testing.simulated.scene import PROJECT
from fleet.verbs.agents import inject_hooks
from fleet.verbs.projects import allow
from fleet.world.home import paths

DIALECT = Dialect({"engine": "x", "events": {"Ask": "asks"}, "shell": "Bash", "wait": 0})
PERMITTED = {"hookSpecificOutput": {"hookEventName": "Ask", "decision": {"behavior": "allow"}}}


def ask(scene: SimulatedScene, ident: str, command: str, tool: str = "Bash"):
    hooking = Hooking(scene.home, ident, scene.fleet.store, scene.fleet.funnel)
    payload = {"tool_name": tool, "tool_input": {"command": command}}
    return hooking.handle_event(DIALECT, "Ask", payload, scene.clock.now())


@pytest.fixture(autouse=True)
def _no_wait(monkeypatch):
    monkeypatch.setattr("fleet.api.agents.messages.ARRIVAL", 0.0)


@pytest.mark.req("ASK-1")
def test_what_is_approved_for_always_is_asked_once_in_its_project_by_no_agent_again(scene):
    one, other = scene.work("a"), scene.work("b")
    asked = ask(scene, one, "make docs").question
    assert scene.fleet.messages.approve(asked, always=True).always == "make docs"
    file = Path(scene.home, paths.allowed(PROJECT))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    for ident in (one, other):
        assert ask(scene, ident, "make docs").payload == PERMITTED
    assert ask(scene, other, "make docs && rm -rf /").question is not None
    assert ask(scene, other, "make docs --force").question is not None
    assert ask(scene, other, "make docs", tool="Other").question is not None
    assert allow.allowed_for_agent(scene.fleet.context, PROJECT, WORKER).exact == ("make docs",)
    assert scene.git("status", "--porcelain") == ""


def test_a_prefix_adds_to_what_was_allowed_and_is_given_to_the_next_agent(scene):
    ident = scene.work("a")
    scene.fleet.messages.approve(ask(scene, ident, "make docs").question, always=True)
    answered = scene.fleet.messages.approve(ask(scene, ident, "uv run pytest -q").question, prefix="uv run pytest")
    assert (answered.answer, answered.always) == ("allow", "uv run pytest")
    assert ask(scene, ident, "uv run pytest tests").payload == PERMITTED
    approved = scene.fleet.settings.approved(PROJECT)
    assert (approved.exact, approved.prefixes) == (("make docs",), ("uv run pytest",))


def test_a_compound_command_is_not_approved_when_it_cannot_be_allowed_for_always(scene):
    asked = ask(scene, scene.work("a"), "make docs && ls").question
    with pytest.raises(BadInput):
        scene.fleet.messages.approve(asked, always=True)
    assert [each.id for each in scene.fleet.messages.questions()] == [asked]
    assert scene.fleet.messages.approve(asked).answer == "allow"


def test_who_answers_too_late_allows_nothing(scene):
    asked = ask(scene, scene.work("a"), "make docs").question
    scene.fleet.messages.answer(asked, ["deny"])
    with pytest.raises(AnsweredBefore):
        scene.fleet.messages.approve(asked, always=True)
    assert not Path(scene.home, paths.allowed(PROJECT)).exists()


def test_all_permissions_are_approved_at_once(scene):
    idents = [scene.work(slug) for slug in ("a", "b")]
    for ident in idents:
        ask(scene, ident, f"make {ident}")
    assert {each.agent for each in scene.fleet.messages.approve_all(PROJECT)} == set(idents)
    assert scene.fleet.messages.approve_all() == [], "nobody asks any more"


def test_the_setting_of_a_project_and_an_agents_own_commands_are_allowed(scene):
    Path(scene.repository, "fleet.toml").write_text('allow = ["npm test"]\n')
    worker = allow.allowed_for_agent(scene.fleet.context, PROJECT, WORKER).prefixes
    assert {"git commit", "git add", "fleet log", "fleet done", "npm test"} <= set(worker)
    assert "git commit" not in allow.allowed_for_agent(scene.fleet.context, PROJECT, REVIEWER).prefixes


def test_rules_go_with_their_project_and_a_new_one_of_its_name_has_none(scene):
    file = Path(scene.home, paths.allowed("q"))
    repository = f"{scene.root}/q"
    scene.git("clone", "--quiet", scene.repository, repository)
    scene.fleet.projects.register(repository, "q")
    allow.remember_rule(scene.fleet.context, "q", allow.Allowed(exact=("make docs",)))
    kept = file.read_text()
    scene.fleet.projects.remove("q")
    assert not file.exists()
    scene.clock.wait(1)
    scene.fleet.projects.register(repository, "q")
    file.write_text(kept)  # somebody was killed before it was removed
    assert scene.fleet.settings.approved("q").exact == ()


def test_a_rule_written_by_hand_that_is_no_simple_command_does_not_count(scene):
    allow.remember_rule(scene.fleet.context, PROJECT, allow.Allowed(exact=("make docs",)))
    file = Path(scene.home, paths.allowed(PROJECT))
    file.write_text(json.dumps(json.loads(file.read_text()) | {"prefixes": ["a), Bash(rm", "npm test", 3]}))
    assert scene.fleet.settings.approved(PROJECT).prefixes == ("npm test",)


def test_rules_that_cannot_be_read_are_not_written_over(scene):
    asked = ask(scene, scene.work("a"), "make docs").question
    file = Path(scene.home, paths.allowed(PROJECT))
    file.parent.mkdir(exist_ok=True)
    file.write_text('{"exact": ["npm test",]}')
    with pytest.raises(BadSetting, match="cannot be read"):
        scene.fleet.messages.approve(asked, always=True)
    assert "npm test" in file.read_text()
    assert [each.id for each in scene.fleet.messages.questions()] == [asked], "nothing is permitted"
    assert ask(scene, scene.work("b"), "npm test").question, "until then agents ask"


@pytest.mark.req("ASK-1")
def test_an_engine_that_waits_for_its_hook_is_permitted_what_its_agent_was_started_with_and_asks_for_the_rest(
    scene, monkeypatch
):
    ident = scene.work("a")
    dialect = Dialect({"engine": "x", "events": {"Permit": "permits"}, "shell": "Bash", "wait": 0})
    hooking = Hooking(scene.home, ident, scene.fleet.store, scene.fleet.funnel)

    def reply(command: str, tool: str = "Bash", why: str = "why"):
        payload = {"tool_name": tool, "tool_input": {"command": command, "description": why}}
        found = hooking.handle_event(dialect, "Permit", payload, scene.clock.now())
        assert found.question is None, "its person is asked at its terminal"
        return found.payload

    allow.remember_rule(scene.fleet.context, PROJECT, Allowed(exact=("make late",)))
    assert not reply("git commit -m x"), "without the variable nothing is permitted"
    monkeypatch.setenv(ALLOWED_VARIABLE, '{"exact": ["make docs"], "prefixes": ["git commit"]}')
    permitted = {"hookSpecificOutput": {"hookEventName": "Permit", "decision": {"behavior": "allow"}}}
    assert reply('git commit -m "a b" && make docs') == permitted
    for command in ("make docs all", "git commit; rm -rf /", 'git commit -m "$(rm)"', "make late"):
        assert not reply(command), command
    assert not reply("make docs", tool="Write")
    assert not reply("make docs", why="network-access example.org:443"), "the command is allowed, not the network"


@pytest.mark.req("ENG-5")
def test_the_file_of_rules_is_private_and_goes_with_the_project(scene):
    gemini = scene.fleet.engines.show("gemini")
    for rules in (Allowed(prefixes=("make",)), Allowed(prefixes=("npm test",))):
        told = inject_hooks.inject_rules(scene.fleet.context, gemini, PROJECT, WORKER, rules)
    (file,) = Path(scene.home, paths.rules_folder(PROJECT)).iterdir()
    assert told == {"FLEET_RULES": str(file)}
    assert ("npm test" in file.read_text(), "make" in file.read_text()) == (True, False)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    scene.fleet.projects.remove(PROJECT, with_tasks=True)
    assert not file.parent.exists()
