"""docs/reference/json.md and the program say the same."""

import json
import subprocess
from collections.abc import Iterator

import pytest
from e2e.commandline import make_repository
from e2e.commands import COMMANDS, WITHOUT_JSON
from e2e.json_page import PLAIN, faults, read_page

from fleet import errors
from fleet.api.fleet import Fleet

SHAPES, ANSWERS = read_page()
AGENT = {"FLEET_DISPATCH_ID": "0a1b2c3d", "FLEET_PROJECT": "web", "FLEET_TASK": "mine"}
GRAPH = [
    {"slug": "base", "title": "Base", "description": "Dig.", "tags": ["ground"], "verify": "true", "engine": "any"},
    {"slug": "wall", "title": "Wall", "after": ["base"], "priority": 2, "not_before": "2099-01-01T00:00:00Z"},
    {"slug": "roof", "title": "Roof", "after": ["wall"], "paused": True},
    {"slug": "wrong", "title": "Wrong", "status": "failed", "reason": "no", "attempts": 1, "assignee": "bob"},
    {"slug": "busy", "title": "Busy", "status": "in_progress", "assignee": "bob", "started_at": "2026-01-01T00:00:00Z"},
    {"slug": "mine", "title": "Mine", "status": "in_progress", "assignee": "0a1b2c3d"},
    {"slug": "old", "title": "Old", "status": "done", "archived": True},
    *({"slug": f"spare{n}", "title": "Spare"} for n in range(5)),
]
# Every command of the page, in an order in which each has something to say.
SCRIPT = [
    ("init", ["init"]),
    ("project add", ["project", "add", "."]),
    ("task import", ["task", "import", "-"]),
    ("status", ["status"]),
    ("log", ["log", "hi"]),
    ("artifact", ["artifact", "a.md"]),
    ("done", ["done", "-m", "bye"]),
    ("task add", ["task", "add", "More", "--after", "base"]),
    ("task edit", ["task", "edit", "base", "--priority", "3"]),
    ("task log", ["task", "log", "base", "hi"]),
    ("task artifact", ["task", "artifact", "base", "a.md"]),
    ("task show", ["task", "show", "base"]),
    ("task show", ["task", "show", "wall"]),
    ("task list", ["task", "list", "--archived"]),
    ("task ready", ["task", "ready"]),
    ("task why", ["task", "why", "roof"]),
    ("task graph", ["task", "graph"]),
    ("task watch", ["task", "watch", "--after", "0", "--limit", "5"]),
    ("task export", ["task", "export"]),
    ("task claim", ["task", "claim", "base"]),
    ("task unclaim", ["task", "unclaim", "base"]),
    ("task pause", ["task", "pause", "base"]),
    ("task unpause", ["task", "unpause", "base"]),
    ("task done", ["task", "done", "base"]),
    ("task retry", ["task", "retry", "base"]),
    ("task fail", ["task", "fail", "spare0", "-r", "no"]),
    ("task block", ["task", "block", "spare1", "-r", "no"]),
    ("task abandon", ["task", "abandon", "spare2"]),
    ("task archive", ["task", "archive", "spare0"]),
    ("task archive --ended", ["task", "archive", "--ended", "--older-than", "0s"]),
    ("ops", ["ops"]),
    ("config show", ["config", "show"]),
    ("doctor", ["doctor"]),
    ("project list", ["project", "list"]),
    ("project show", ["project", "show", "web"]),
    ("maintenance rotate-operations", ["maintenance", "rotate-operations", "--older-than", "0s"]),
    ("fail", ["fail", "-r", "no"]),
    ("block", ["block", "-r", "no"]),
    ("project remove", ["project", "remove", "other", "--with-tasks"]),
]

# The same for agents: one is stopped, one is killed and its work merged.
AGENTS = [
    ("run", ["run", "Build", "--slug", "build", "--engine", "shell", "--", "sleep", "600"]),
    ("ps", ["ps"]),
    ("agents list", ["agents", "list"]),
    ("peek", ["peek", "build"]),
    ("dispatches list", ["dispatches", "list"]),
    ("dispatches show", ["dispatches", "show", "build"]),
    ("claims list", ["claims", "list"]),
    ("maintenance sweep-leaks", ["maintenance", "sweep-leaks"]),
    ("claims disown", ["claims", "disown", "@last", "--kind", "coord_prompt_inbox", "--reason", "a test"]),
    ("stop", ["stop", "build"]),
    ("logs", ["logs", "build"]),
    ("diff", ["diff", "build"]),
    ("dispatches show", ["dispatches", "show", "build"]),
    ("dispatch", ["dispatch", "other", "--engine", "shell", "--", "sleep", "600"]),
    ("kill", ["kill", "other", "--reason", "enough"]),
    ("merge", ["merge", "other"]),
    ("land", ["land"]),
    ("engine list", ["engine", "list"]),
    ("engine show", ["engine", "show", "shell"]),
    ("engine check", ["engine", "check", "shell"]),
    ("maintenance prune-dispatch-archive", ["maintenance", "prune-dispatch-archive"]),
    ("clean", ["clean", "--yes"]),
]


def said(fleet, command: str, words: list[str]) -> object:
    env = AGENT if command in {"log", "artifact", "done"} else {}
    if command in {"fail", "block"}:  # a person, in the name of nobody: these tasks are free
        env = {"FLEET_PROJECT": "web", "FLEET_TASK": {"fail": "spare3", "block": "spare4"}[command]}
    lines = "\n".join(json.dumps(node) for node in GRAPH).encode()
    split = words.index("--") if "--" in words else len(words)
    answer = fleet(*words[:split], "--json", *words[split:], env=env, stdin=lines)
    assert answer.code in {0, 1} if command == "doctor" else answer.code == 0, answer
    assert answer.err == ""
    return answer.objects if ANSWERS[command].startswith("lines of ") else answer.json


def script(fleet) -> Iterator[tuple[str, object]]:
    for command, words in SCRIPT:
        if command == "project remove":
            fleet("task", "add", "One", "-p", "other").ok()
        yield command, said(fleet, command, words)


@pytest.mark.req("OBS-5", "GRAPH-1")
def test_every_answer_has_the_keys_and_types_of_the_page(either, tmp_path):
    either("project", "add", str(make_repository(tmp_path / "other"))).ok()
    wrong = [
        f"{command}: {fault}" for command, value in script(either) for fault in faults(value, ANSWERS[command], SHAPES)
    ]
    assert wrong == []


@pytest.fixture
def staffed(fleet, repository):
    """A project in which agents can work; none does when the test is over."""
    git = ["git", "-C", repository, "-c", "user.name=ann", "-c", "user.email=ann@localhost"]
    subprocess.run([*git, "commit", "--quiet", "--allow-empty", "--message=first"], check=True)
    fleet.add("other")
    yield fleet
    with Fleet.open() as opened:
        subprocess.run(["tmux", "-S", opened.world.tmux.socket, "kill-server"], check=False, capture_output=True)


@pytest.mark.req("OBS-5")
def test_every_answer_about_agents_has_the_keys_and_types_of_the_page(staffed):
    wrong = []
    for command, words in AGENTS:
        if command == "merge":
            staffed("task", "done", "other").ok()
        last = staffed.ask("dispatches", "list")[0]["id"] if "@last" in words else ""
        value = said(staffed, command, [last if word == "@last" else word for word in words])
        wrong += [f"{command}: {fault}" for fault in faults(value, ANSWERS[command], SHAPES)]
    assert wrong == []


@pytest.mark.req("OBS-5")
def test_the_demonstration_answers_as_the_page_says(program):
    answer = program("demo", "--crowd", "--processes", "2", "--tasks", "10", "--json")
    assert (answer.code, faults(answer.json, ANSWERS["demo --crowd"], SHAPES)) == (0, [])


def test_every_command_of_the_page_is_tried_above():
    assert {command for command, _ in SCRIPT + AGENTS} == set(ANSWERS) - {"demo", "demo --crowd"}


def test_every_command_of_the_program_is_on_the_page():
    answering = {" ".join(path) for path in COMMANDS if path not in WITHOUT_JSON}
    assert answering == set(ANSWERS) - {"task archive --ended", "task export", "demo --crowd"}


def test_every_shape_is_used_and_every_type_is_known():
    used = {kind.split(" of ")[-1] for kind in ANSWERS.values()}
    for shape in SHAPES.values():
        used |= {kind.removesuffix(", if said").removesuffix(" or null").split(" of ")[-1] for kind in shape.values()}
    assert used - set(PLAIN) == set(SHAPES)


@pytest.mark.req("OBS-5")
def test_an_error_is_an_object_with_its_facts(fleet):
    answer = fleet("task", "show", "parsr", "--json").refused(11, "parsr")
    assert answer.error == {
        "code": 11,
        "kind": "absent",
        "name": "NoSuchTask",
        "message": "project 'web' has no task 'parsr'",
        "hint": "`fleet task list -p web` shows what there is",
        "project": "web",
        "slug": "parsr",
    }


def test_a_mistake_in_the_words_is_such_an_object_too(fleet):
    answer = fleet("task", "show", "--json").refused(2, "SLUG", "--help")
    assert set(answer.error) == {"code", "kind", "name", "message", "hint"}
    assert (answer.error["code"], answer.error["kind"]) == (errors.BadInput.code, errors.BadInput.kind)
