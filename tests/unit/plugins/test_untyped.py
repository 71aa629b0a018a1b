"""The count of what the type checker cannot see into."""

import subprocess

import pytest
import untyped


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x: dict[str, Any] = {}", {"any": 1}),
        ("y = cast(int, x)", {"cast": 1}),
        ("y = x['key'] + x['other']", {"subscript": 2}),
        ("x['key'] = 1  # type: ignore[index]", {"subscript": 1, "ignore": 1}),
        ("y = x[0]", {}),
        ("x: typing.Any; y: 'Any'; z = typing.cast(int, x)", {"any": 2, "cast": 1}),
        ("from typing import Any", {}),
    ],
)
def test_each_kind_is_counted(text, expected):
    assert +untyped.count_module(text) == expected


@pytest.fixture
def module(monkeypatch, tmp_path):
    """A source with one module, and its record in a repository."""
    source, record = tmp_path / "src", tmp_path / "record.txt"
    (source / "verbs").mkdir(parents=True)
    monkeypatch.setattr(untyped, "SOURCE", source)
    monkeypatch.setattr(untyped, "RECORD", record)
    made = source / "verbs" / "add.py"
    made.write_text("y = x['key']\n")
    git(record, "init", "-q")
    count(monkeypatch, "--record")
    git(record, "add", ".")
    git(record, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "record")
    return made


def git(record, *words: str) -> None:
    subprocess.run(["git", *words], cwd=record.parent, check=True)


def count(monkeypatch, *words: str) -> int:
    monkeypatch.setattr("sys.argv", ["untyped.py", *words])
    return untyped.main()


def test_a_count_that_rises_fails_and_is_not_recorded(module, monkeypatch, capsys):
    assert count(monkeypatch) == 0
    module.write_text("y = x['key'] + x['other']\n")
    assert count(monkeypatch, "--record") == 1
    assert "untyped: verbs has 2 × subscript, 1 recorded" in capsys.readouterr().out


def test_a_count_that_falls_is_to_be_recorded(module, monkeypatch, capsys):
    module.write_text("y = x.key\n")
    assert count(monkeypatch) == 1
    assert "untyped: fewer than recorded; run `python checks/untyped.py --record`" in capsys.readouterr().out
    assert count(monkeypatch, "--record") == 0
    assert untyped.read_record()["verbs"]["subscript"] == 0
    assert count(monkeypatch) == 0


def test_a_record_that_is_raised_by_hand_fails_by_its_history(module, monkeypatch, capsys):
    module.write_text("y = x['key'] + x['other']\n")
    untyped.RECORD.write_text(untyped.table(untyped.count_layers()))
    assert count(monkeypatch) == 1
    assert "untyped: verbs has 2 × subscript, 1 once" in capsys.readouterr().out
