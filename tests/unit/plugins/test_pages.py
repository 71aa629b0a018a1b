"""What the pages for contributors count and list is what the tree has."""

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
