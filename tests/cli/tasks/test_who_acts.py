"""Who acts: a dispatch, a named somebody, or the person at the keyboard. On both stores where it concerns tasks."""

import os
from pathlib import Path

import pytest

DISPATCH = "0a1b2c3d"
AGENT = {"FLEET_DISPATCH_ID": DISPATCH, "FLEET_PROJECT": "web", "FLEET_TASK": "a"}
SHORT = {
    "log": ["log", "hi"],
    "artifact": ["artifact", "a.md"],
    "done": ["done"],
    "fail": ["fail", "--reason", "no"],
    "block": ["block", "--reason", "no"],
}


def short_forms(test):
    return pytest.mark.parametrize("words", SHORT.values(), ids=SHORT)(test)


def last_actor(fleet) -> str:
    return fleet("ops", "--json", "--limit", "1").ok().objects[0]["actor"]


def test_a_person_acts_as_user_at_host(fleet):
    fleet.add("a")
    assert last_actor(fleet) == f"ann@{os.uname().nodename}"


@pytest.mark.parametrize("user", ["Jürgen Müller", "@@@", "-x", "a/b", "..", "x" * 200, "deadbeef"])
def test_whatever_the_user_is_called_there_is_a_name_to_act_under(user, fleet):
    fleet("task", "add", "A", "--slug", "a", env={"USER": user}).ok()
    assert last_actor(fleet)


def test_a_name_can_be_taken_on(fleet):
    fleet.add("a", "--as", "night-shift")
    assert last_actor(fleet) == "night-shift"


@pytest.mark.parametrize("name", [DISPATCH, "deadbeef", "12345678"])
def test_nobody_takes_on_the_name_of_a_dispatch(name, fleet):
    fleet("task", "add", "A", "--as", name).refused(2, name, "looks like a dispatch id")


@pytest.mark.parametrize("name", ["", "night shift", "a/b", "-x", "x" * 101, "caf\u00e9"])
def test_a_name_that_cannot_be_kept_is_refused(name, fleet):
    fleet("task", "add", "A", f"--as={name}").refused(2, "actor")


@pytest.mark.req("GRAPH-4")
def test_an_agent_acts_as_its_dispatch(either):
    either.add("a")
    either("task", "claim", "a", env=AGENT).ok()
    assert either.show("a")["assignee"] == DISPATCH
    [operation] = either("ops", "--json", "--dispatch", DISPATCH).ok().objects
    assert (operation["actor"], operation["dispatch"]) == (DISPATCH, DISPATCH)


@pytest.mark.req("GRAPH-4")
def test_operations_of_an_agent_about_one_task_are_found_behind_newer_ones_about_others(either):
    for slug in ("a", "b"):
        either.add(slug)
        either("task", "claim", slug, env=AGENT).ok()
    found = either("ops", "--json", "--dispatch", DISPATCH, "-t", "web/a", "--limit", "1").ok().objects
    assert [(each["slug"], each["dispatch"]) for each in found] == [("a", DISPATCH)]


@pytest.mark.req("GRAPH-1")
@short_forms
def test_an_agents_short_form_reads_its_task_from_the_environment(words, either, tmp_path):
    either.add("a")
    either("task", "claim", "a", env=AGENT).ok()
    assert "web/a" in either(*words, env=AGENT, where=tmp_path).ok().out
    operations = either("ops", "--json", "--dispatch", DISPATCH).ok().objects
    assert [each["slug"] for each in operations] == ["a", "a"]


@pytest.mark.parametrize("name", ["bob", ""])
def test_an_agent_cannot_speak_as_somebody_else(name, fleet):
    fleet.add("a")
    fleet("task", "claim", "a", env=AGENT).ok()
    before = fleet.everything()
    for words in SHORT.values():
        fleet(*words, f"--as={name}", env=AGENT).refused(2, "--as", "FLEET_DISPATCH_ID", DISPATCH)
    assert fleet.everything() == before


@short_forms
def test_outside_an_agent_the_short_form_says_how_to_name_the_task(words, fleet, tmp_path):
    long = f"fleet task {words[0]} SLUG"
    fleet(*words).refused(2, "FLEET_TASK", long)
    fleet(*words, where=tmp_path).refused(2, "FLEET_TASK", long)
    fleet(*words, env={"FLEET_TASK": ""}).refused(2, "FLEET_TASK", long)


@pytest.mark.parametrize("given", ["xyz", "0A1B2C3D", "0a1b2c3d4"])
def test_a_dispatch_id_that_is_none_is_refused_and_says_where_it_came_from(given, fleet):
    fleet("log", "hi", env=AGENT | {"FLEET_DISPATCH_ID": given}).refused(2, repr(given), "FLEET_DISPATCH_ID")


@pytest.mark.parametrize("slug", ["../x", "A b", "x.lock"])
def test_a_task_from_the_environment_is_checked_like_any_other(slug, fleet):
    fleet("log", "hi", env=AGENT | {"FLEET_TASK": slug}).refused(2, "task slug", repr(slug))


@pytest.fixture
def worktree(home: Path) -> Path:
    """What a worktree of fleet's own looks like from inside."""
    path = home / "projects" / "web" / "worktrees" / "a" / "src"
    path.mkdir(parents=True)
    (home / "projects" / "web" / "workers").mkdir()
    return path


@pytest.mark.req("GRAPH-4")
@pytest.mark.parametrize("env", [{}, {"FLEET_TASK": "a", "FLEET_PROJECT": "web"}], ids=["no id", "no id but a task"])
def test_in_a_fleet_worktree_an_agent_without_its_id_is_told_why_it_is_refused(env, either, worktree):
    either.add("a")
    before = either.everything()
    for words in SHORT.values():
        either(*words, env=env, where=worktree).refused(2, "fleet worktree", "FLEET_DISPATCH_ID is not set", "FLEET_*")
    assert either.everything() == before


def test_in_a_fleet_worktree_a_person_still_names_the_task(fleet, worktree):
    fleet.add("a")
    fleet("task", "log", "a", "looked at it", where=worktree).ok()
    assert [each["message"] for each in fleet.show("a")["log"]] == ["looked at it"]


def test_in_a_fleet_worktree_an_agent_with_its_id_speaks(fleet, worktree):
    fleet.add("a")
    fleet("task", "claim", "a", env=AGENT).ok()
    fleet("log", "hi", env={"FLEET_DISPATCH_ID": DISPATCH, "FLEET_TASK": "a"}, where=worktree).ok()
    assert [each["actor"] for each in fleet.show("a")["log"]] == [DISPATCH]


OVERRIDING = [
    ["done", "--override"],
    ["fail", "-r", "x", "--override"],
    ["block", "-r", "x", "--override"],
    ["task", "claim", "a", "--override"],
    ["task", "unclaim", "a", "--override"],
    ["task", "abandon", "a", "--override"],
    ["task", "edit", "a", "--title", "Mine now", "--override"],
]


@pytest.mark.req("GRAPH-4")
def test_override_is_for_people(either):
    either.add("a")
    either("task", "claim", "a", "--as", "bob").ok()
    before = either.everything()
    for words in OVERRIDING:
        either(*words, env=AGENT).refused(14, "--override is for people", DISPATCH)
    assert either.everything() == before
