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
        ("y = x.get('a') or x.pop('b', 1) or x.setdefault('c', {})", {"method": 3}),
        ("y = x.get(name) or x.get(1) or x.pop() or get('a')", {}),
    ],
)
def test_each_kind_is_counted(text, expected):
    assert +untyped.count_module(text) == expected


ALIASES = {
    "fleet.a": "Json = dict[str, Any]\nJsons: TypeAlias = list[Json]\nName = dict[str, int]\n",
    "fleet.b": "from fleet.a import Json as Document, Jsons, Name\nMany = Document | None\n",
    "fleet.c": "from fleet.b import Many\nfrom elsewhere import Json\n",
}


def test_names_for_types_with_any_are_known_in_each_module_that_has_them():
    assert untyped.find_aliases(ALIASES) == {
        "fleet.a": {"Json", "Jsons"},
        "fleet.b": {"Document", "Jsons", "Many"},
        "fleet.c": {"Many"},
    }


def test_each_use_of_such_a_name_is_counted():
    text = "def f(x: Json, y: list[Json], z: Name) -> Json: ..."
    assert +untyped.count_module(text, frozenset({"Json"})) == {"alias": 3}


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


def begin_history(*records: str) -> None:
    """Make a history in which the record had these lines, one after the other."""
    git(untyped.RECORD, "checkout", "-q", "--orphan", "other")
    for record in records:
        untyped.RECORD.write_text(f"{record}\n")
        git(untyped.RECORD, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qam", record)


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


def test_a_use_of_an_alias_of_another_module_is_counted_by_its_layer(module):
    (module.parent.parent / "model").mkdir()
    (module.parent.parent / "model" / "names.py").write_text("Json = dict[str, Any]\n")
    module.write_text("from fleet.model.names import Json\nx: Json = {}\n")
    counts = {name: +each for name, each in untyped.count_layers().items()}
    assert counts == {"model": {"any": 1}, "verbs": {"alias": 1}}


def test_an_old_record_holds_for_the_kinds_that_it_has(module, monkeypatch, capsys):
    begin_history("verbs 0 0 0 1")
    module.write_text("y = x['key'] or x.get('key')\n")
    assert count(monkeypatch, "--record") == 0
    assert untyped.read_record()["verbs"]["method"] == 1
    module.write_text("y = x['key'] or x['other']\n")
    assert count(monkeypatch, "--record") == 1
    assert "untyped: verbs has 2 × subscript, 1 recorded" in capsys.readouterr().out


def test_a_new_layer_begins_with_nothing(module, monkeypatch, capsys):
    (module.parent.parent / "api").mkdir()
    (module.parent.parent / "api" / "new.py").write_text("y = x.get('key')\n")
    assert count(monkeypatch, "--record") == 1
    assert "untyped: api has 1 × method, 0 recorded" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("records", "least"),
    [
        (["verbs 0 0 0 1"], 1),
        (["verbs 0 0 0 0"], 0),
        (["verbs 0 0 0 1", "verbs 0 0 0 0 0 0"], 0),
        (["verbs 0 0 0 0", "verbs 0 0 0 1 0 0"], 0),
    ],
)
def test_the_lowest_count_of_all_records_holds_in_old_ones_too(module, monkeypatch, capsys, records, least):
    begin_history(*records)
    module.write_text("y = x['key'] + x['other']\n")
    untyped.RECORD.write_text(untyped.table(untyped.count_layers()))
    assert count(monkeypatch) == 1
    assert f"untyped: verbs has 2 × subscript, {least} once" in capsys.readouterr().out
