"""What the pages for contributors count and list is what the tree has."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[3]
NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def test_the_page_of_decisions_counts_the_packages_that_users_get():
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    on_macos = [each for each in asked if "darwin" in each]
    words = f"asks for {NUMBERS[len(asked) - len(on_macos)]} packages ({NUMBERS[len(asked)]} on macOS)"
    assert re.findall(r"asks for .*? packages \(.*?\)", (ROOT / "docs/explanation/decisions.md").read_text()) == [words]
