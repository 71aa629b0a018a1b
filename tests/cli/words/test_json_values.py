"""What `--json` prints of tasks has the values that were given, not only their keys."""

import json

import pytest

AT = "2026-01-01T00:00:00.000Z"
NODES = [
    {
        "slug": "base",
        "title": "Base",
        "description": "Dig.",
        "status": "done",
        "tags": ["context", "soil"],
        "verify": "true",
        "engine": "shell",
        "model": "m1",
        "assignee": "bob",
        "attempts": 2,
        "archived": True,
        "started_at": AT,
        "ended_at": AT,
        "added_at": AT,
        "log": [{"at": AT, "actor": "bob", "message": "dug"}],
        "artifacts": [{"path": "a.md", "at": AT, "actor": "bob"}],
    },
    {"slug": "roof", "title": "Roof", "status": "open", "after": ["base", "wall"], "priority": 2, "not_before": AT},
    {"slug": "wall", "title": "Wall", "status": "blocked", "reason": "no stones", "paused": True, "assignee": "eve"},
]
LISTED = {
    "base": ("Base", "done", "done", 0, False, True, None, "bob", 2, None, 0),
    "roof": ("Roof", "open", "waiting", 2, False, False, AT, None, 0, None, 1),
    "wall": ("Wall", "blocked", "blocked", 0, True, False, None, "eve", 0, "no stones", 0),
}
COLUMNS = (
    "title", "status", "state", "priority", "paused", "archived", "not_before", "assignee", "attempts", "reason", "open_blockers"
)  # fmt: skip


@pytest.fixture
def graph(either):
    lines = "\n".join(json.dumps(node) for node in NODES).encode()
    either("task", "import", "-", stdin=lines).ok()
    return either


@pytest.mark.req("OBS-5", "GRAPH-1", "GRAPH-11")
def test_tasks_are_printed_with_the_values_that_they_were_given(graph):
    listed = graph.ask("task", "list", "--archived")
    assert {each["slug"]: tuple(each[name] for name in COLUMNS) for each in listed} == LISTED
    assert [each["slug"] for each in graph.ask("task", "list")] == ["roof", "wall"]
    shown = graph.show("base")
    assert {name: shown[name] for name in NODES[0]} == NODES[0]
    assert (shown["project"], shown["after"], shown["dependents"]) == ("web", [], ["roof"])
    assert graph.show("roof")["after"] == ["base", "wall"]
    exported = {each["slug"]: each for each in graph("task", "export").ok().objects}
    for node in NODES:
        assert {name: exported[node["slug"]][name] for name in node} == node
    drawn = graph.ask("task", "graph")
    assert sorted((each["slug"], each["needs"]) for each in drawn["edges"]) == [("roof", "wall")]
    assert {each["slug"]: each["status"] for each in drawn["nodes"]} == {"roof": "open", "wall": "blocked"}


@pytest.mark.req("OBS-5")
def test_projects_and_operations_are_printed_with_their_values(graph, repository):
    [project] = graph.ask("project", "list")
    assert (project["name"], project["path"]) == ("web", str(repository))
    graph("task", "retry", "wall", "--as", "bob").ok()
    last = graph("ops", "--json").ok().objects[-1]
    assert {name: last[name] for name in ("actor", "why", "project", "slug", "dispatch")} == {
        "actor": "bob",
        "why": "retry web/wall",
        "project": "web",
        "slug": "wall",
        "dispatch": None,
    }
    assert (last["what"]["status"], last["what"]["was"]) == ("open", "blocked")
