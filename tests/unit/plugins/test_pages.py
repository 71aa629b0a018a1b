"""What the pages for contributors count and list is what the tree has."""

import ast
import re
import tomllib
from pathlib import Path

import layout
import pytest

ROOT = Path(__file__).parents[3]
NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def test_the_page_of_decisions_counts_the_packages_that_users_get():
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    on_macos = [each for each in asked if "darwin" in each]
    words = f"asks for {NUMBERS[len(asked) - len(on_macos)]} packages ({NUMBERS[len(asked)]} on macOS)"
    assert re.findall(r"asks for .*? packages \(.*?\)", (ROOT / "docs/explanation/decisions.md").read_text()) == [words]


@pytest.mark.parametrize(
    ("files", "layer", "cell"),
    [
        (["tasks.py", "inner/tasks.py"], "", "`tasks.py`"),
        (["tasks/a.py", "_tasks.py"], "", "`tasks/`"),
        (["results/tasks.py", "tasks/empty.txt"], "", "`results/tasks.py`"),
        (["results/inner/tasks.py"], "", ""),
        (["unit/tasks/a.py", "live/tasks.py", "live/inner/tasks.py"], "*", "`live/tasks.py` `unit/tasks/`"),
        (["unit/inner/tasks.py"], "*", "`unit/inner/tasks.py`"),
    ],
)
def test_a_cell_of_the_map_shows_the_top_of_a_layer_or_else_one_folder_below(tmp_path, files, layer, cell):
    for each in files:
        (tmp_path / each).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / each).touch()
    assert layout.cell(tmp_path / layer, ("tasks",)) == cell


def _has_inner_import(text: str) -> bool:
    functions = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef))
    return any(isinstance(node, ast.Import | ast.ImportFrom) for each in functions for node in ast.walk(each))


def test_an_import_inside_a_function_is_one_of_a_listed_file_or_says_why():
    lint = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["ruff"]["lint"]
    (listed,) = [each for each, codes in lint["per-file-ignores"].items() if codes == ["PLC0415"]]
    names = listed.removeprefix("src/fleet/{").removesuffix("}.py").split(",")
    files = {path: path.read_text() for path in (ROOT / "src/fleet").rglob("*.py")}
    allowed = {ROOT / f"src/fleet/{name}.py" for name in names}
    assert [path for path in allowed if not _has_inner_import(files[path])] == []
    assert [path for path, text in files.items() if re.search(r"noqa: .*PLC0415(?!.* - \w)", text)] == []
