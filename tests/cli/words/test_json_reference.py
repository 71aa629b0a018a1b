"""docs/reference/json.md and the program say the same."""

import contextlib
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli.commandline import make_repository
from cli.commands import COMMANDS, WITHOUT_JSON
from cli.json_page import PLAIN, faults, read_page
from staging.stage import raw

from fleet.api.agents import messages
from fleet.api.fleet import Fleet
from fleet.errors.families import BadInput, FleetError
from fleet.testing.crash.scenarios import until
from fleet.world.files.daemon_log import DaemonLog
from fleet.world.funnel import Funnel

SHAPES, ANSWERS = read_page()
AGENT = {"FLEET_DISPATCH_ID": "0a1b2c3d", "FLEET_PROJECT": "web", "FLEET_TASK": "mine"}
GRAPH = [
    {"slug": "base", "title": "Base", "description": "Dig.", "tags": ["context"], "verify": "true", "engine": "any"},
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
    ("add", ["add", "Add me"]),
    ("status", ["status"]),
    ("recap", ["recap"]),
    ("review --list", ["review", "--list"]),
    ("pr", ["pr", "--check"]),
    ("rc up", ["rc", "up", "web"]),
    ("rc down", ["rc", "down", "web"]),
    ("rc status", ["rc", "status", "web"]),
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
    ("trust", ["trust", "--yes"]),
    ("doctor", ["doctor"]),
    ("notify test", ["notify", "test"]),
    ("notify list", ["notify", "list"]),
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
    ("dispatches settle", ["dispatches", "settle", "build"]),
    ("resume --list", ["resume", "--list"]),
    ("resume", ["resume", "build"]),
    ("resume --all", ["resume", "--all"]),
    ("stop", ["stop", "build"]),
    ("review --list", ["review", "--list"]),
    ("review", ["review", "build", "--verify"]),
    ("review --accept", ["review", "build", "--accept"]),
    ("status", ["status"]),
    ("recap", ["recap"]),
    ("dispatch", ["dispatch", "other", "--engine", "shell", "--", "sleep", "600"]),
    ("kill", ["kill", "other", "--reason", "enough"]),
    ("merge", ["merge", "other"]),
    ("land", ["land"]),
    ("merges list", ["merges", "list"]),
    ("merges restore", ["merges", "restore"]),
    ("merges acknowledge", ["merges", "acknowledge", "--reason", "squashed"]),
    ("engine list", ["engine", "list"]),
    ("engine show", ["engine", "show", "shell"]),
    ("engine check", ["engine", "check", "shell"]),
    ("maintenance prune-dispatch-archive", ["maintenance", "prune-dispatch-archive"]),
    ("clean", ["clean", "--yes"]),
    ("stop --all", ["stop", "--all"]),
    ("up", ["up", "--engine", "shell", "--autonomy", "edits", "--review", "none"]),
    ("down", ["down"]),
]

# The same for what is said to agents and asked by them.
TALKING = [
    ("message", ["message", "other", "look here"]),
    ("inbox", ["inbox"]),
    ("questions", ["questions"]),
    ("answer", ["answer", "other", "allow"]),
    ("approve", ["approve", "other"]),
    ("approve --all", ["approve", "--all"]),
    ("deny", ["deny", "other", "--reason", "no"]),
    ("limits list", ["limits", "list"]),
    ("limits lift", ["limits", "lift", "claude"]),
    ("limits allow", ["limits", "allow", "5", "--today"]),
    ("hooks install", ["hooks", "install"]),
    ("hooks status", ["hooks", "status"]),
    ("hooks uninstall", ["hooks", "uninstall"]),
]


# The same for a job: of its items one is done, one is dropped and one is tried again.
JOB = """
name: n
map:
  isolation: none
  input: [good, bad, worse]
  steps: [{shell: "echo {item}; test {item} = good"}]
  retry: {attempts: 1}
"""
JOBS = [
    ("job validate", ["job", "validate", "job.yml"]),
    ("job schema", ["job", "schema"]),
    ("job run --dry-run", ["job", "run", "job.yml", "--dry-run"]),
    ("job run", ["job", "run", "job.yml"]),
    ("job list", ["job", "list"]),
    ("job show", ["job", "show", "@last"]),
    ("job show --items", ["job", "show", "@last", "--items"]),
    ("job logs", ["job", "logs", "@last"]),
    ("job dlq list", ["job", "dlq", "list", "@last"]),
    ("job dlq show", ["job", "dlq", "show", "@last", "@first"]),
    ("job dlq drop", ["job", "dlq", "drop", "@last", "@first"]),
    ("job dlq retry", ["job", "dlq", "retry", "@last", "--all"]),
    ("job cancel", ["job", "cancel", "@last"]),
]


# The same for coordinators and handoffs.
COORDINATING = [
    ("coord start", ["coord", "start", "--engine", "proves"]),
    ("coord status", ["coord", "status"]),
    ("coord replace", ["coord", "replace", "--engine", "proves"]),
    ("coord tick", ["coord", "tick"]),
    ("handoff", ["handoff", "other", "--reason", "full"]),
    ("handoffs list", ["handoffs", "list"]),
    ("handoffs show", ["handoffs", "show", "@last"]),
    ("drain", ["drain"]),
    ("dispatches show", ["dispatches", "show", "other"]),
    ("coord stop", ["coord", "stop"]),
]
PROVES = (
    'summary = "s"\nprogram = "sh"\nstart = ["sh", "-c", "fleet coord tick; exec sleep 600"]\ninteractive = false\n'
)


def said(fleet, command: str, words: list[str]) -> object:
    env = AGENT if command in {"log", "artifact", "done"} else {}
    if command in {"fail", "block"}:  # a person, in the name of nobody: these tasks are free
        env = {"FLEET_PROJECT": "web", "FLEET_TASK": {"fail": "spare3", "block": "spare4"}[command]}
    lines = "\n".join(json.dumps(node) for node in GRAPH).encode()
    split = words.index("--") if "--" in words else len(words)
    answer = fleet(*words[:split], "--json", *words[split:], env=env, stdin=lines)
    assert answer.code in {0, 1} if command in {"doctor", "job run", "notify test"} else answer.code == 0, answer
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
    assert wrong == [], "\n".join(wrong)


@pytest.fixture
def staffed(fleet, repository, tmux):
    """A project in which agents can work."""
    git = ["git", "-C", repository, "-c", "user.name=ann", "-c", "user.email=ann@localhost"]
    subprocess.run([*git, "commit", "--quiet", "--allow-empty", "--message=first"], check=True)
    fleet.add("other")
    return fleet


@pytest.mark.req("OBS-5")
def test_every_answer_about_agents_has_the_keys_and_types_of_the_page(staffed):
    wrong = []
    for command, words in AGENTS:
        if command == "merge":
            staffed("task", "done", "other").ok()
        if command in {"stop", "kill"}:  # one that never started could not be resumed
            task = "build" if command == "stop" else "other"
            until(lambda: staffed.ask("dispatches", "show", task)["launched_at"])  # noqa: B023
        if command == "review --list":
            with Fleet.open() as opened:  # what only a pipeline does
                raw(opened, "UPDATE tasks SET stage = 'review' WHERE slug = 'build'")
        if command == "claims disown":
            with Fleet.open() as opened:  # only what another machine made can be given up
                raw(opened, "UPDATE claims SET host = 'elsewhere' WHERE kind = 'coord_prompt_inbox'")
        if command == "down":
            until(lambda: staffed.ask("coord", "status")["state"] == "alive")
        last = staffed.ask("dispatches", "list")[0]["id"] if "@last" in words else ""
        value = said(staffed, command, [last if word == "@last" else word for word in words])
        wrong += [f"{command}: {fault}" for fault in faults(value, ANSWERS[command], SHAPES)]
    assert wrong == [], "\n".join(wrong)


@pytest.mark.req("OBS-5")
@pytest.mark.alone("it speaks for an agent, whose token only that agent has")
def test_every_answer_about_talking_has_the_keys_and_types_of_the_page(staffed, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(messages, "ARRIVAL", 0.0)  # nobody takes these answers
    ident = staffed("dispatch", "other", "--engine", "shell", "--json", "--", "sleep", "600").ok().json["id"]
    wrong = []
    for number, (command, words) in enumerate(TALKING):
        with Fleet.open() as opened:
            asked = f"'{number:08d}', '{ident}', 'permission', 'Bash: ls', '[]', 1"
            raw(opened, f"INSERT INTO questions (id, dispatch, kind, text, choices, asked_at) VALUES ({asked})")
            raw(
                opened,
                "INSERT INTO holds (engine, kind, reason, since) VALUES ('claude', 'login', 'r', 1) ON CONFLICT DO NOTHING",
            )
            raw(
                opened,
                "INSERT INTO quotas (engine, span, percent, at) VALUES ('claude', 'day', 5, 1) ON CONFLICT DO NOTHING",
            )
        if command == "inbox":
            monkeypatch.setenv("FLEET_DISPATCH_ID", ident)
        given = [f"{number:08d}" if word == "other" and command != "message" else word for word in words]
        value = said(staffed, command, given)
        monkeypatch.delenv("FLEET_DISPATCH_ID", raising=False)
        assert value, command
        wrong += [f"{command}: {fault}" for fault in faults(value, ANSWERS[command], SHAPES)]
    staffed("kill", ident, "--reason", "the test is over").ok()
    assert wrong == [], "\n".join(wrong)


@pytest.mark.req("OBS-5", "JOB-6")
def test_every_answer_about_jobs_has_the_keys_and_types_of_the_page(staffed, repository):
    (repository / "job.yml").write_text(JOB)
    wrong = []
    for command, words in JOBS:
        first = staffed.ask("job", "dlq", "list", "@last")[0]["id"] if "@first" in words else ""
        value = said(staffed, command, [first if word == "@first" else word for word in words])
        wrong += [f"{command}: {fault}" for fault in faults(value, ANSWERS[command], SHAPES)]
    assert wrong == [], "\n".join(wrong)


@pytest.mark.req("OBS-5")
@pytest.mark.alone("it speaks for an agent, whose token only that agent has")
def test_every_answer_about_coordinators_has_the_keys_and_types_of_the_page(staffed, home, monkeypatch):
    (home / "engines").mkdir()
    (home / "engines" / "proves.toml").write_text(PROVES)
    staffed("dispatch", "other", "--engine", "shell", "--", "sleep", "600").ok()
    wrong = []
    for command, words in COORDINATING:
        if command == "coord tick":
            monkeypatch.setenv("FLEET_DISPATCH_ID", staffed.ask("coord", "status")["holder"])
            until(lambda: staffed("coord", "tick").code == 0)  # its own first tick is over
        if command == "drain":
            with Fleet.open() as opened:
                opened.coord.hand_off(opened.dispatches.find("other"), reason="full again")
        last = staffed.ask("handoffs", "list")[0]["id"] if "@last" in words else ""
        value = said(staffed, command, [last if word == "@last" else word for word in words])
        monkeypatch.delenv("FLEET_DISPATCH_ID", raising=False)
        assert value, command
        wrong += [f"{command}: {fault}" for fault in faults(value, ANSWERS[command], SHAPES)]
    with Fleet.open() as opened:  # a handoff may still be under way: whoever works on it then goes
        for agent in opened.agents.list():
            with contextlib.suppress(FleetError):
                opened.dispatches.kill(agent.id, "the test is over")
    assert wrong == [], "\n".join(wrong)


# The same for the home itself.
HOMES = [
    ("daemon install", ["daemon", "install"]),
    ("daemon uninstall", ["daemon", "uninstall"]),
    ("daemon logs", ["daemon", "logs"]),
    ("home show", ["home", "show"]),
    ("dispatches disown", ["dispatches", "disown", "@last", "--reason", "gone"]),
    ("home repair", ["home", "repair", "--yes"]),
    ("home new-database", ["home", "new-database", "--reason", "gone"]),
]


def pretend_systemd(place: Path, patch: pytest.MonkeyPatch) -> None:
    """Put a `systemctl` that takes everything before the one of this machine; units go into a folder of the test."""
    (place / "bin").mkdir()
    (place / "bin/systemctl").symlink_to("/bin/true")
    patch.setenv("PATH", f"{place / 'bin'}:{os.environ['PATH']}")
    patch.setenv("XDG_CONFIG_HOME", str(place / "config"))


@pytest.mark.alone("it installs a daemon as a service")
@pytest.mark.req("OBS-5")
def test_every_answer_about_the_home_has_the_keys_and_types_of_the_page(staffed, home, tmp_path, monkeypatch):
    pretend_systemd(tmp_path, monkeypatch)
    DaemonLog(str(home), Funnel()).write("started", pid=1)
    ident = staffed("dispatch", "other", "--engine", "shell", "--json", "--", "sleep", "600").ok().json["id"]
    until(lambda: staffed.ask("dispatches", "show", ident)["launched_at"])
    staffed("stop", ident)
    with Fleet.open() as opened:
        raw(opened, "UPDATE dispatches SET home = 'gone', host = 'gone'")
        raw(opened, "INSERT INTO homes VALUES ('another', 'h', 'm', 'n', '/nowhere', 1)")
    moved, wrong = home.with_name("moved"), []
    for command, words in HOMES:
        if command == "home repair":
            os.rename(home, moved)
            monkeypatch.setenv("FLEET_HOME", str(moved))
        if command == "home new-database":
            os.rename(home / "fleet.db", home / "kept.db")
        value = said(staffed, command, [ident if word == "@last" else word for word in words])
        wrong += [f"{command}: {fault}" for fault in faults(value, ANSWERS[command], SHAPES)]
        if command == "home repair":
            os.rename(moved, home)
            monkeypatch.setenv("FLEET_HOME", str(home))
            staffed("home", "repair", "--yes").ok()
    os.replace(home / "kept.db", home / "fleet.db")
    assert wrong == [], "\n".join(wrong)


# The same for the daemon.
DAEMON = [
    ("daemon start", ["daemon", "start"]),
    ("daemon status", ["daemon", "status"]),
    ("daemon restart", ["daemon", "restart"]),
    ("daemon stop", ["daemon", "stop"]),
]


@pytest.mark.req("OBS-5")
@pytest.mark.alone("it starts the daemon itself")
def test_every_answer_about_the_daemon_has_the_keys_and_types_of_the_page(fleet):
    wrong = []
    for command, words in DAEMON:
        value = said(fleet, command, words)
        wrong += [f"{command}: {fault}" for fault in faults(value, ANSWERS[command], SHAPES)]
    assert wrong == [], "\n".join(wrong)


@pytest.mark.req("OBS-5")
def test_the_demonstration_answers_as_the_page_says(program):
    answer = program("demo", "--crowd", "--processes", "2", "--tasks", "10", "--json")
    assert (answer.code, faults(answer.json, ANSWERS["demo --crowd"], SHAPES)) == (0, [])


def test_every_command_of_the_page_is_tried_above():
    assert {command for command, _ in SCRIPT + AGENTS + JOBS + TALKING + COORDINATING + HOMES + DAEMON} == set(
        ANSWERS
    ) - {
        "demo",
        "demo --crowd",
        "demo --night",
    }


def test_every_command_of_the_program_is_on_the_page():
    answering = {" ".join(path) for path in COMMANDS if path not in WITHOUT_JSON}
    assert answering == set(ANSWERS) - {
        "review --list",
        "review --accept",
        "resume --all",
        "approve --all",
        "stop --all",
        "resume --list",
        "job run --dry-run",
        "job show --items",
        "task archive --ended",
        "task export",
        "demo --crowd",
        "demo --night",
    }


def test_every_shape_is_used_and_every_type_is_known():
    used = {shape for kind in ANSWERS.values() for shape in kind.split(" of ")[-1].split(" or ")}
    for shape in SHAPES.values():
        used |= {kind.removesuffix(", if said").removesuffix(" or null").split(" of ")[-1] for kind in shape.values()}
    assert (used | {"NotifyEvent"}) - set(PLAIN) == set(SHAPES), "a program of the person's gets that one"


@pytest.mark.req("OBS-5")
def test_an_error_is_an_object_with_its_facts(fleet):
    answer = fleet("task", "show", "parsr", "--json").refused(11, "parsr")
    assert answer.error == {
        "code": 11,
        "kind": "absent",
        "name": "NoSuchTask",
        "message": "project 'web' has no task 'parsr'",
        "hint": "`fleet task list -p web` lists the tasks",
        "project": "web",
        "slug": "parsr",
    }


def test_a_mistake_in_the_words_is_such_an_object_too(fleet):
    answer = fleet("task", "show", "--json").refused(2, "SLUG", "--help")
    assert answer.error == {
        "code": 2,
        "kind": BadInput.kind,
        "name": "Usage",
        "message": "Missing argument 'SLUG'",
        "hint": "`fleet task show --help` shows the usage",
    }
