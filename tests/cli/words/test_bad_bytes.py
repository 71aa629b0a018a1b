"""Words that are no UTF-8, as a shell may hand them over."""

import json
import os
from pathlib import Path

import pytest

BAD = b"caf\xe9"
EVERYWHERE = {
    "add": [
        ["task", "add", BAD],
        ["task", "add", "x", "--slug", BAD],
        ["task", "add", "x", "-d", BAD],
        ["task", "add", "x", "--tag", BAD],
        ["task", "add", "x", "--after", BAD],
        ["task", "add", "x", "--verify", BAD],
        ["task", "add", "x", "--as", BAD],
        ["task", "add", "x", "--key", BAD],
        ["task", "add", "x", "-p", BAD],
    ],
    "change": [
        ["task", "edit", "a", "--untag", BAD],
        ["task", "log", "a", BAD],
        ["task", "log", BAD, "hi"],
        ["task", "artifact", "a", BAD],
        ["task", "fail", "a", "-r", BAD],
    ],
    "read": [
        ["task", "show", BAD],
        ["task", "list", "--text", BAD],
        ["task", "list", "--tag", BAD],
        ["task", "list", "--assignee", BAD],
        ["task", "watch", BAD],
        ["ops", "--actor", BAD],
        ["ops", "-p", BAD],
        ["ops", "--dispatch", BAD],
        ["ops", "--since", BAD],
    ],
    "elsewhere": [
        ["project", "show", BAD],
        ["project", "add", BAD],
        ["task", "import", BAD],
        [BAD],
    ],
}
# A locale as most people have it; under C and POSIX Python lets such bytes pass to the output.
STRICT = {"PYTHONIOENCODING": "utf-8:strict"}


def refused(program, words: list[str | bytes]) -> bool:
    """One line for people, an object for programs, and a code for both; whatever is printed is text."""
    answer = program(*words, "--json", env=STRICT, errors="backslashreplace")
    one_line = answer.err.startswith("fleet: ") and answer.err.count("\n") == 1
    return one_line and answer.code in {2, 11, 14} and answer.error["code"] == answer.code


@pytest.mark.req("GRAPH-5")
@pytest.mark.parametrize("group", ["add", "change", "read", "elsewhere"])
def test_bytes_that_are_no_text_are_refused_in_one_line(group, fleet, program):
    """Always as a process: such words in a report would kill the test's own worker."""
    fleet.add("a")
    before = fleet.everything()
    assert [words for words in EVERYWHERE[group] if not refused(program, words)] == []
    assert fleet.everything() == before


def test_a_file_whose_name_is_no_text_is_imported_all_the_same(fleet, program, tmp_path):
    path = os.fsencode(tmp_path) + b"/caf\xe9.jsonl"
    Path(os.fsdecode(path)).write_text('{"slug": "a", "title": "A"}\n')
    answer = program("task", "import", path, env=STRICT)
    assert answer.code in {0, 2}, answer
    assert "Traceback" not in answer.err


def test_standard_input_that_is_no_text_is_refused(fleet):
    fleet.add("a")
    fleet("task", "log", "a", "-", stdin=b"caf\xe9").refused(2, "message is not valid UTF-8")
    fleet("task", "add", "x", "-d", "-", stdin=b"\xff\xfe").refused(2, "description is not valid UTF-8")


def test_a_directory_whose_name_is_no_text_can_be_stood_in(fleet, program, tmp_path):
    fleet.add("a")
    strange = os.fsencode(tmp_path) + b"/caf\xe9"
    os.mkdir(strange)
    assert program("task", "list", "-p", "web", where=strange, env=STRICT).ok()
    program("task", "list", where=strange, env=STRICT).refused(2, "no project")
    answer = program("task", "list", "--json", where=strange, env=STRICT)
    assert json.loads(answer.out)["error"]["code"] == 2
