"""What a tool call would write, as a diff."""

import json
import os
from pathlib import Path

import pytest

from fleet.model.agents.changes import change_of
from fleet.model.agents.questions import choices_of, question
from fleet.model.text import jsontext
from fleet.world.files.user_file import text_below


def change(before: str | None, **call: object) -> str | None:
    return change_of(json.dumps({"file_path": "a.py", **call}), lambda _path: before)


@pytest.mark.req("ASK-1")
def test_a_written_file_is_compared_with_the_one_that_is_there():
    found = change("one\ntwo\n", content="one\n2\n")
    assert found == "--- a.py\n+++ a.py\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"
    assert change("", content="new\n") == "--- a.py\n+++ a.py\n@@ -0,0 +1 @@\n+new\n"
    assert change("same\n", content="same\n") == "a.py: nothing would change\n"


def test_a_file_that_cannot_be_read_is_said_to_be_unknown():
    assert str(change(None, content="x\n")).startswith("(what the file holds now is not known here)\n--- a.py\n")


@pytest.mark.parametrize(
    ("call", "removed", "added"),
    [
        ({"old_string": "b", "new_string": "B"}, ["b"], ["B"]),
        ({"old_string": "a", "new_string": "A", "replace_all": True}, ["a", "a"], ["A", "A"]),
        ({"old_string": "a", "new_string": "A"}, ["a"], ["A"]),
        ({"edits": [{"old_string": "b", "new_string": "B"}, {"old_string": "B", "new_string": "C"}]}, ["b"], ["C"]),
        ({"old_string": "not there", "new_string": "x"}, ["not there"], ["x"]),
    ],
)
def test_an_edit_is_shown_in_the_file_or_by_itself(call, removed, added):
    lines = str(change("a\nb\na\n", **call)).splitlines()[2:]
    assert [line[1:] for line in lines if line.startswith("-")] == removed
    assert [line[1:] for line in lines if line.startswith("+")] == added


@pytest.mark.parametrize(
    "command", [None, "", "rm -rf x", '{"command": "ls"}', '{"file_path": "a"', "[1]", '{"url": "x"}']
)
def test_what_writes_nothing_that_is_known_has_no_diff(command):
    assert change_of(command, lambda _path: "") is None


def test_only_a_regular_file_below_the_folder_is_read(tmp_path: Path):
    (tmp_path / "tree").mkdir()
    (tmp_path / "secret").write_text("s")
    (tmp_path / "tree/a").write_text("a")
    os.symlink(tmp_path / "secret", tmp_path / "tree/link")
    os.mkfifo(tmp_path / "tree/pipe")
    tree = str(tmp_path / "tree")
    assert (text_below(tree, "a"), text_below(tree, f"{tree}/a"), text_below(tree, "none")) == ("a", "a", "")
    assert [text_below(tree, each) for each in ("link", "pipe", "../secret", f"{tmp_path}/secret", ".")] == [None] * 5


def test_the_descriptions_of_choices_are_kept_and_may_be_missing():
    options = [{"label": "A", "description": "the first"}, {"label": "B"}]
    asked = question("Ask", {"questions": [{"question": "Which?", "options": options}]}, "Ask")
    assert [(each.options, each.descriptions) for each in asked.choices] == [(["A", "B"], ["the first", ""])]
    assert choices_of(jsontext.dumps(asked.choices)) == asked.choices
    (old,) = choices_of('[{"question": "", "options": ["allow", "deny"], "many": false}]')
    assert old.descriptions == []


def test_a_long_text_is_kept_whole():
    content = "line\n" * 10_000
    asked = question("Write", {"file_path": "a", "content": content}, "Ask")
    assert str(change_of(asked.command, lambda _path: "")).count("\n+line") == 10_000


SUBSTITUTING = '{"file_path": "README.md", "content": "$(touch X)"}'


def test_a_shell_command_that_looks_like_the_input_of_a_write_is_shown_as_it_is():
    asked = question("Bash", {"command": SUBSTITUTING}, "Ask", "Bash")
    assert (asked.runs, change_of(asked.command, lambda _path: "")) == (SUBSTITUTING, None)
    assert SUBSTITUTING in asked.command


def test_a_tool_that_does_more_than_write_a_file_is_shown_as_it_is():
    assert change_of('{"path": "README.md", "content": "x", "repo": "other"}', lambda _path: "") is None


def test_what_goes_beside_a_command_is_shown_and_the_command_alone_is_not_what_runs():
    asked = question("Bash", {"command": "npm test", "dangerouslyDisableSandbox": True}, "Ask", "Bash")
    assert asked.runs is None
    assert asked.command == 'npm test\nwith {"dangerouslyDisableSandbox": true}'
    plain = question("Bash", {"command": "npm test", "timeout": 9, "description": "run"}, "Ask", "Bash")
    assert (plain.runs, plain.command) == ("npm test", "npm test")
