"""GRAPH-11: graphs in and out. On both stores."""

import json
from itertools import count
from pathlib import Path

import pytest
from cli.commandline import make_repository
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from fleet.model.text.times import iso

DATA = Path(__file__).parents[2] / "data"
TEXT = st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=30)
LINE = TEXT.filter(lambda text: len(text.strip().splitlines()) == 1).map(str.strip)
SLUG = st.from_regex(r"[a-z0-9][a-z0-9_-]{0,8}", fullmatch=True)
STATUSES = ["open", "blocked", "done", "failed", "abandoned", "in_progress"]
TIME = st.integers(1, 7_000_000_000_000).map(iso)
TIMES = ("added_at", "changed_at", "started_at", "ended_at", "not_before")
NUMBERS = count()


@st.composite
def graphs(draw) -> list[dict]:
    """Any graph whose tasks wait only for tasks before them."""
    slugs = draw(st.lists(SLUG, min_size=1, max_size=6, unique=True))
    return [draw(nodes(slug, slugs[:place])) for place, slug in enumerate(slugs)]


@st.composite
def nodes(draw, slug: str, before: list[str]) -> dict:
    status = draw(st.sampled_from(STATUSES))
    said = {"at": TIME, "actor": st.sampled_from(["ann@home", "3f2a9c01"])}
    node = {
        "slug": slug,
        "title": draw(LINE),
        "status": status,
        "description": draw(TEXT),
        "priority": draw(st.integers(-1_000, 1_000)),
        "after": draw(st.lists(st.sampled_from(before), unique=True)) if before else [],
        "tags": draw(st.lists(SLUG, max_size=3, unique=True)),
        "not_before": draw(st.none() | TIME),
        "verify": draw(st.none() | LINE),
        "attempts": draw(st.integers(0, 9)),
        "reason": draw(st.none() | LINE),
        "paused": draw(st.booleans()),
        "archived": status in {"done", "failed", "abandoned"} and draw(st.booleans()),
        "assignee": "bob" if status == "in_progress" else draw(st.none() | st.just("bob")),
        "log": draw(st.lists(st.fixed_dictionaries({**said, "message": LINE}), max_size=3)),
        "artifacts": draw(
            st.lists(st.fixed_dictionaries({**said, "path": SLUG}), max_size=2, unique_by=lambda a: a["path"])
        ),
        "added_at": draw(TIME),
        "ended_at": draw(TIME),
    }
    return {name: value for name, value in node.items() if value is not None}


def second_project(fleet, tmp_path: Path, name: str) -> str:
    fleet("project", "add", str(make_repository(tmp_path / name))).ok()
    return name


@pytest.mark.req("GRAPH-11")
def test_what_is_exported_is_imported_as_it_was(either, tmp_path):
    text = (DATA / "fleet.jsonl").read_text()
    answer = either("task", "import", str(DATA / "fleet.jsonl")).ok()
    assert answer.out == "imported 4 tasks and 3 dependencies into web\n"
    assert either("task", "export").ok().out == text
    other = second_project(either, tmp_path, "other")
    either("task", "import", "-", "-p", other, stdin=text.encode()).ok()
    assert either("task", "export", "-p", other).ok().out == text
    target = tmp_path / "tasks.jsonl"
    assert either("task", "export", "-o", str(target)).ok().out == ""
    assert target.read_text() == text


@pytest.mark.slow("many processes for each graph")
@pytest.mark.req("GRAPH-11")
@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # every step of shrinking would cost as much as an example
)
@given(graph=graphs())
def test_any_graph_goes_out_as_it_came_in(graph, either, tmp_path):
    first, second = (second_project(either, tmp_path, f"p{next(NUMBERS)}") for _ in range(2))
    lines = "".join(json.dumps(node) + "\n" for node in graph)
    either("task", "import", "-", "-p", first, stdin=lines.encode()).ok()
    exported = either("task", "export", "-p", first).ok().out
    either("task", "import", "-", "-p", second, stdin=exported.encode()).ok()
    assert either("task", "export", "-p", second).ok().out == exported
    told = {node["slug"]: node for node in map(json.loads, exported.splitlines())}
    for node in graph:
        kept = told[node["slug"]]
        for field in ("title", "status", "verify", "reason", "assignee", "not_before", "added_at", "log"):
            assert kept.get(field) == (node.get(field) or None)
        assert sorted(kept.get("after", [])) == sorted(node["after"])


@pytest.mark.req("GRAPH-11")
def test_a_task_as_old_as_the_epoch_keeps_its_times(either):
    node = {"slug": "a", "title": "A", "status": "done", **dict.fromkeys(TIMES, "1970-01-01T00:00:00.000Z")}
    either("task", "import", "-", stdin=json.dumps(node).encode()).ok()
    assert {either.show("a")[name] for name in TIMES} == {"1970-01-01T00:00:00.000Z"}


@pytest.mark.req("GRAPH-11")
@pytest.mark.parametrize("at", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
def test_a_time_that_another_tool_uses_for_never_is_refused_or_goes_out_as_it_came_in(at, either, tmp_path):
    """Go writes 0001-01-01 for a time that was never set."""
    node = {"id": "bd-1", "title": "A", "priority": 2, "created_at": at, "updated_at": at}
    answer = either("task", "import", "-", stdin=json.dumps(node).encode())
    assert answer.code == 0 or answer.refused(14, "line 1")
    other = second_project(either, tmp_path, "other")
    exported = either("task", "export").ok().out
    either("task", "import", "-", "-p", other, stdin=exported.encode()).ok()


@pytest.mark.req("GRAPH-11")
def test_a_graph_of_workgraph_is_understood(either):
    answer = either.ask("task", "import", str(DATA / "workgraph.jsonl"))
    assert answer == {"project": "web", "tasks": 5, "edges": 4, "left_out": 2}
    design, build, load = (either.show(slug) for slug in ("design-api", "build-api", "load-test"))
    assert (design["status"], design["assignee"], design["ended_at"]) == ("done", "agent-2", "2026-01-19T17:39:55.015Z")
    assert [each["path"] for each in design["artifacts"]] == ["docs/api.md"]
    assert design["log"][0]["message"].startswith("Spawned by wg spawn")
    assert (build["status"], build["assignee"], build["after"]) == ("open", None, ["design-api"])
    assert (build["verify"], build["tags"], build["state"]) == ("cargo test api", ["core", "phase2"], "ready")
    assert (load["status"], load["reason"], load["attempts"]) == ("failed", "Agent exited with code 1", 2)
    assert either.show("ship")["paused"]
    assert [task["slug"] for task in either.ask("task", "ready")] == ["build-api"]


def test_whoever_spoke_in_workgraph_is_named(fleet):
    """An entry without an actor has a user."""
    fleet("task", "import", str(DATA / "workgraph.jsonl")).ok()
    assert [each["actor"] for each in fleet.show("design-api")["log"]] == ["agent-2", "braydon"]


@pytest.mark.req("GRAPH-11")
def test_the_issues_of_beads_are_understood(either):
    answer = either.ask("task", "import", str(DATA / "beads.jsonl"))
    assert answer == {"project": "web", "tasks": 5, "edges": 1, "left_out": 1}
    tests, code = either.show("bd-a3f8.1"), either.show("bd-a3f8.2")
    assert (tests["status"], tests["assignee"], tests["priority"]) == ("done", "ralf", 2)
    assert (
        tests["description"]
        == "Red first.\n\n## Design\n\nOne test a rule.\n\n## Acceptance\n\nAll red.\n\n## Notes\n\nSee RFC 6265."
    )
    assert tests["tags"] == ["tdd-red", "testing"]
    assert [(each["actor"], each["message"]) for each in tests["log"]] == [("ralf", "forty of them")]
    assert (code["status"], code["assignee"], code["after"], code["added_at"]) == (
        "open",
        None,
        ["bd-a3f8.1"],
        "2026-01-21T17:11:31.068Z",
    )
    assert either.show("bd-a3f8")["title"] == "Login & sessions"
    assert (either.show("bd-b11")["status"], either.show("bd-c22")["state"]) == ("blocked", "waiting")
    assert [task["slug"] for task in either.ask("task", "ready")] == ["bd-a3f8", "bd-a3f8.2"]


def test_an_issue_that_waited_for_a_deleted_one_waits_no_longer(fleet):
    lines = b'{"id": "bd-1", "title": "Gone", "status": "tombstone", "priority": 2}\n'
    lines += b'{"id": "bd-2", "title": "Here", "dependencies": [{"depends_on_id": "bd-1", "type": "blocks"}]}\n'
    fleet("task", "import", "-", stdin=lines).ok()
    assert [task["slug"] for task in fleet.ask("task", "ready")] == ["bd-2"]


@pytest.mark.req("GRAPH-11")
def test_a_new_graph_may_wait_for_tasks_that_are_there(either):
    either.add("base")
    either("task", "import", "-", stdin=b'{"slug": "more", "title": "More", "after": ["base"]}\n').ok()
    assert either.show("more")["state"] == "waiting"
    either("task", "done", "base").ok()
    assert either.show("more")["state"] == "ready"


@pytest.mark.req("GRAPH-11")
def test_tasks_md_is_readable(either):
    either("task", "import", str(DATA / "fleet.jsonl")).ok()
    either("task", "add", "*Stars* and [links]", "--slug", "stars").ok()
    either("task", "claim", "stars", "--as", "bob").ok()
    assert either("task", "export", "--markdown").ok().out.splitlines() == [
        "# Tasks of web",
        "",
        "## In progress (1)",
        "",
        "- [~] **\\*Stars\\* and \\[links\\]** `stars` (bob)",
        "",
        "## Failed (1)",
        "",
        "- [!] **Write the printer** `printer` — after `parser` — the grammar is ambiguous",
        "",
        "## Open (1)",
        "",
        "- [ ] **Release → 1.0 🚀** `release` #ship #v1 — after `parser`, `printer`",
        "",
        "## Done (1)",
        "",
        "- [x] **Write the parser** `parser`",
    ]


def test_an_empty_file_imports_nothing(fleet):
    assert fleet("task", "import", "-").ok().out == "imported 0 tasks and 0 dependencies into web\n"


def test_an_import_is_named_in_the_operations_by_its_file(fleet):
    fleet("task", "import", str(DATA / "fleet.jsonl")).ok()
    fleet("task", "import", "-", stdin=b'{"slug": "a", "title": "A"}\n').ok()
    whys = [each["why"] for each in fleet("ops", "--json").ok().objects]
    assert whys[1:] == ["import fleet.jsonl into web", "import standard input into web"]


@pytest.mark.parametrize("words", [["/nowhere/x.jsonl"], ["."]], ids=["missing", "directory"])
def test_a_file_that_cannot_be_read_is_a_mistake_of_the_caller(words, fleet):
    fleet("task", "import", *words).refused(2, words[0], "FILE")
