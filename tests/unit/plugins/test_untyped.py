"""The count of what the type checker cannot see into."""

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
        ("from typing import Any", {}),
    ],
)
def test_each_kind_is_counted(text, expected):
    assert +untyped.count_module(text) == expected


def test_a_count_that_rises_fails_and_is_not_recorded(monkeypatch, tmp_path, capsys):
    source, record = tmp_path / "src", tmp_path / "untyped.txt"
    (source / "verbs").mkdir(parents=True)
    module = source / "verbs" / "add.py"
    monkeypatch.setattr(untyped, "SOURCE", source)
    monkeypatch.setattr(untyped, "RECORD", record)
    monkeypatch.setattr("sys.argv", ["untyped.py", "--record"])
    module.write_text("y = x['key']\n")
    assert untyped.main() == 0
    module.write_text("y = x['key'] + x['other']\n")
    assert untyped.main() == 1
    assert "untyped: verbs has 2 × subscript, 1 recorded" in capsys.readouterr().out
    module.write_text("y = x.key\n")
    assert untyped.main() == 0
    assert untyped.read_record()["verbs"]["subscript"] == 0
