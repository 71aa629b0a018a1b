"""The items of a job: from a list, a file or a glob, selected, and refused in words where they are none."""

import json
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fleet.errors.families import JobFailed
from fleet.model.jobs import items
from fleet.model.jobs.placeholders import LONGEST_VARIABLE
from fleet.verbs.jobs.items import inputs


@dataclass
class Where:
    cwd: str
    folder: str
    job: str = "j"


@pytest.fixture
def where(tmp_path: Path) -> Where:
    for name in ("checkout", "document"):
        (tmp_path / name).mkdir()
    return Where(str(tmp_path / "checkout"), str(tmp_path / "document"))


def read(where: Where, source: str, given: Any, select: str | None = None, **values: Any) -> list[object]:
    workflow: Any = SimpleNamespace(name="n", map=SimpleNamespace(source=source, given=given, select=select))
    nobody: Any = None
    return inputs.items_of(nobody, workflow, where, values, nobody)


def refusal(where: Where, source: str, given: Any, select: str | None = None, **values: Any) -> str:
    with pytest.raises(JobFailed) as raised:
        read(where, source, given, select, **values)
    assert raised.value.facts["job"] == where.job
    return str(raised.value)


@pytest.mark.req("JOB-1")
def test_items_come_from_the_checkout_first_then_from_the_folder_of_the_document(where):
    Path(where.folder, "items.json").write_text('["from the document"]')
    assert read(where, "file", "items.json") == ["from the document"]
    Path(where.cwd, "items.json").write_text('["from the checkout"]')
    assert read(where, "file", "items.json") == ["from the checkout"]


@pytest.mark.req("JOB-1")
def test_a_file_that_is_missing_or_no_text_is_named(where):
    said = refusal(where, "file", "items.json")
    assert "the input is not there" in said
    assert f"{where.cwd}/items.json nor {where.folder}/items.json" in said
    Path(where.cwd, "items.json").write_bytes(b"caf\xe9")
    assert f"{where.cwd}/items.json is not UTF-8" in refusal(where, "file", "items.json")


@pytest.mark.req("JOB-1")
def test_a_file_that_cannot_be_read_ends_the_job_with_the_reason(where, monkeypatch):
    Path(where.cwd, "items.json").write_text("[]")

    def refused(path: str, **_options: object) -> None:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr("builtins.open", refused)
    said = refusal(where, "file", "items.json")
    assert f"the input {where.cwd}/items.json cannot be read: Permission denied" in said


@pytest.mark.req("JOB-1")
def test_a_glob_finds_files_in_order_and_does_not_leave_the_repository(where):
    for name in ("b.py", "a.py", "src/c.py"):
        Path(where.cwd, name).parent.mkdir(exist_ok=True)
        Path(where.cwd, name).touch()
    Path(where.cwd, "folder.py").mkdir()
    assert read(where, "glob", "**/*.py") == [{"path": "a.py"}, {"path": "b.py"}, {"path": "src/c.py"}]
    for pattern in ("/etc/*", "../*", "src/../../*"):
        assert f"{pattern!r} leads out of the repository" in refusal(where, "glob", pattern)


@pytest.mark.req("JOB-1")
def test_select_picks_the_list_and_what_is_none_is_refused(where):
    given = {"items": [{"n": 1}, {"n": 2}], "title": "t"}
    assert read(where, "list", given, "items[?n > `1`]") == [{"n": 2}]
    assert "the input is a dict, not a list" in refusal(where, "list", given)
    assert "the input is a str, not a list" in refusal(where, "list", given, "title")
    assert "the input is nothing, not a list" in refusal(where, "list", given, "missing")
    assert "select failed: " in refusal(where, "list", given, "items[")


@pytest.mark.req("JOB-1")
def test_a_placeholder_whose_value_no_command_can_take_is_named(where):
    said = refusal(where, "command", "echo {env.LONG}", env={"LONG": "x" * (LONGEST_VARIABLE + 1)})
    assert said == (
        "job j: the input cannot be read: {env.LONG}: it is longer than the 100000 bytes that a command can take"
    )
    assert "there is no setup here" in refusal(where, "file", "{setup.output}")


def nested(depth: int) -> object:
    found: object = "x"
    for _ in range(depth):
        found = [found]
    return found


@pytest.mark.req("JOB-1", "JOB-2")
def test_an_item_that_is_null_too_long_or_too_deep_is_named_by_its_number(where):
    assert "item 2 of the input is null" in refusal(where, "list", ["a", None])
    longest = "x" * (items.LONGEST - 2)  # with its quotes
    assert read(where, "list", [longest]) == [longest]
    assert f"item 1 of the input is longer than {items.LONGEST} characters" in refusal(where, "list", [f"{longest}x"])
    deep = nested(items.DEEPEST + 1)
    assert f"item 1 of the input is nested more than {items.DEEPEST} levels deep" in refusal(where, "list", [deep])


@pytest.mark.req("JOB-1")
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('["a", 1]', ["a", 1]),
        ('{"a": 1}', {"a": 1}),
        ("null", None),
        ("7", [7]),
        ("12e4567", ["12e4567"]),
        ('{"a": 1}\n\n{"a": 2}\n', [{"a": 1}, {"a": 2}]),
        ("one\n\n two \n", ["one", " two "]),
        ("", []),
    ],
)
def test_a_text_is_json_or_json_lines_or_its_lines(text, found):
    assert inputs.parse_input(text) == found
    assert json.loads(json.dumps(found)) == found
