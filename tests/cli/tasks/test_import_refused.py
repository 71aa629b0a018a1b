"""What cannot be imported is refused with its line, and all of it. On both stores where the store decides."""

import json

import pytest

GOOD = b'{"slug": "good", "title": "Good"}'
FINDINGS = {
    "bytes that are no UTF-8": (b'{"slug": "a", "title": "caf\xe9"}', "not UTF-8 (byte 28)"),
    "no JSON": (b'{"slug": "a", "title"', "not JSON"),
    "a list": (b"[1, 2]", "not a JSON object"),
    "too deep": (b"[" * 100_000, "not JSON"),
    "a number": (b"7", "not a JSON object"),
    "an object of nobody": (b'{"name": "a"}', "neither a fleet task"),
    "an unknown field": (b'{"slug": "a", "title": "A", "titel": "B"}', "unknown field 'titel'"),
    "no title": (b'{"slug": "a"}', "title is missing"),
    "an empty title": (b'{"slug": "a", "title": " "}', "title is empty"),
    "a long title": (b'{"slug": "a", "title": "' + b"x" * 501 + b'"}', "title has 501 characters"),
    "a title that is a number": (b'{"slug": "a", "title": 5}', "title is not a text"),
    "a slug with a path": (b'{"slug": "../a", "title": "A"}', "task slug '../a'"),
    "a slug that is a number": (b'{"slug": 5, "title": "A"}', "slug is not a text"),
    "a control character": (b'{"slug": "a", "title": "\\u001b[31m"}', "U+001B"),
    "half a surrogate": (b'{"slug": "a", "title": "\\ud800"}', "not valid UTF-8"),
    "a status that is none": (b'{"slug": "a", "title": "A", "status": "doing"}', "status 'doing'"),
    "a priority that is none": (b'{"slug": "a", "title": "A", "priority": "high"}', "priority is not a number"),
    "a priority beyond all": (b'{"slug": "a", "title": "A", "priority": 5000}', "priority is not a number from -1000"),
    "a time that is none": (b'{"slug": "a", "title": "A", "not_before": "soon"}', "not_before is not a time"),
    "dependencies in a text": (b'{"slug": "a", "title": "A", "after": "good"}', "after is not a list of texts"),
    "a dependency on a number": (b'{"slug": "a", "title": "A", "after": [1]}', "after is not a list of texts"),
    "a log without actors": (b'{"slug": "a", "title": "A", "log": [{"message": "x"}]}', "actor is missing"),
    "a log of texts": (b'{"slug": "a", "title": "A", "log": ["x"]}', "log is not a list of objects"),
    "a long message": (
        b'{"slug": "a", "title": "A", "log": [{"actor": "b", "message": "' + b"x" * 64_001 + b'"}]}',
        "log message has 64001",
    ),
    "a flag that is none": (b'{"slug": "a", "title": "A", "paused": "yes"}', "paused is neither true nor false"),
    "work without a worker": (b'{"slug": "a", "title": "A", "status": "in_progress"}', "has an assignee"),
    "an archived open task": (b'{"slug": "a", "title": "A", "archived": true}', "archived task has ended"),
    "a slug given twice": (b'{"slug": "good", "title": "Again"}', "slug 'good' was given on line 1"),
    "a slug that is taken": (b'{"slug": "taken", "title": "Mine"}', "already has a task 'taken'"),
    "a slug taken by an archived task": (b'{"slug": "shelved", "title": "Mine"}', "already has a task 'shelved'"),
    "an unknown dependency": (
        b'{"slug": "a", "title": "A", "after": ["nope"]}',
        "'a' waits for 'nope', which does not exist",
    ),
    "a cycle of one": (b'{"slug": "a", "title": "A", "after": ["a"]}', "a cycle: a \u2192 a"),
}
# Lines that other tools, or people with an editor, might have written.
ODD = [
    b'{"id": "bd-1", "title": "x", "priority": null}',
    b'{"id": "bd-1", "title": "x", "priority": "P1"}',
    b'{"id": "bd-1", "title": "x", "status": []}',
    b'{"id": "bd-1", "title": "x", "dependencies": [{"type": "blocks"}]}',
    b'{"id": "bd-1", "title": "x", "dependencies": 7}',
    b'{"id": "bd-1", "title": "x", "comments": ["hello"]}',
    b'{"id": "bd-1", "title": "x", "labels": 7}',
    b'{"id": "bd-1", "title": ["x"]}',
    b'{"kind": "task", "id": "w", "after": 7}',
    b'{"kind": "task", "id": "w", "log": ["x"]}',
    b'{"kind": "task", "id": "w", "status": {}}',
    b'{"kind": "task", "id": "w", "tags": 7}',
    b'{"kind": "task", "id": null}',
    b'{"slug": "a", "title": "A", "not_before": 5}',
    b'{"slug": "a", "title": "A", "log": [{"message": "x", "actor": "b", "at": []}]}',
]


@pytest.fixture
def project(either):
    either.add("taken")
    either.add("shelved")
    either("task", "done", "shelved").ok()
    either("task", "archive", "shelved").ok()
    return either


@pytest.mark.slow("a process for every finding")
@pytest.mark.req("GRAPH-11", "GRAPH-5", "GRAPH-7")
def test_each_finding_has_its_line_and_nothing_is_imported(project):
    before = project.everything()
    for line, finding in FINDINGS.values():
        answer = project("task", "import", "-", stdin=GOOD + b"\n\n" + line + b"\n")
        answer.refused(14, "nothing was imported: line 3: ", finding)
    assert project.everything() == before


@pytest.mark.req("GRAPH-11", "GRAPH-7")
def test_a_cycle_is_named_with_a_line_of_it(project):
    nodes = [("a", ["c"]), ("b", ["a"]), ("c", ["b"]), ("d", ["c"])]
    lines = "".join(json.dumps({"slug": slug, "title": slug, "after": after}) + "\n" for slug, after in nodes)
    project("task", "import", "-", stdin=lines.encode()).refused(14, "line 1: a cycle: a → c → b → a")


@pytest.mark.req("GRAPH-11")
def test_all_findings_are_told_at_once_up_to_twenty(either):
    lines = b"\n".join(b'{"slug": "a%d"}' % number for number in range(25))
    answer = either("task", "import", "-", stdin=lines).refused(
        14, "line 1: title is missing", "line 20: ", "and 5 more"
    )
    assert "line 21:" not in answer.err


def test_findings_are_a_list_for_programs(fleet):
    """A program, or an editor, can jump to each of them."""
    answer = fleet("task", "import", "-", "--json", stdin=b'{"slug": "a"}\n{"slug": "B", "title": "B"}\n').refused(14)
    assert isinstance(answer.error["findings"], list)
    assert [finding.split(":")[0] for finding in answer.error["findings"]] == ["line 1", "line 2"]


@pytest.mark.req("GRAPH-11")
@pytest.mark.parametrize("line", ODD, ids=lambda line: line.decode())
def test_an_odd_line_of_another_tool_is_a_finding_or_is_understood(line, either):
    before = either.everything()
    answer = either("task", "import", "-", stdin=GOOD + b"\n" + line + b"\n")
    if answer.code != 0:
        answer.refused(14, "line 2: ")
        assert either.everything() == before


@pytest.mark.parametrize(
    "status",
    [
        "open",
        "in-progress",
        "done",
        "blocked",
        "failed",
        "abandoned",
        "pending-review",
        "waiting",
        "pending-validation",
        "pending-eval",
        "incomplete",
    ],
)
def test_every_status_that_workgraph_writes_is_understood(status, fleet):
    fleet(
        "task", "import", "-", stdin=b'{"kind": "task", "id": "w", "title": "W", "status": "%s"}' % status.encode()
    ).ok()


def test_a_file_with_a_byte_order_mark_or_windows_line_ends_is_read(fleet):
    fleet(
        "task", "import", "-", stdin=b'\xef\xbb\xbf{"slug": "a", "title": "A"}\r\n{"slug": "b", "title": "B"}\r\n'
    ).ok()
    assert [task["slug"] for task in fleet.ask("task", "list")] == ["a", "b"]
