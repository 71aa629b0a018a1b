"""Fail when a file or a function of src is too large, or when an entry of the root is in neither ROOT nor LOCAL."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

# In lines: what is larger than the goal is printed, what is larger than the limit fails.
FILE_LIMIT, FILE_GOAL = 500, 400
FUNCTION_LIMIT, FUNCTION_GOAL = 60, 30
GENERATED = Path("src/fleet/store/queries")
# Catalogues: one flat list, which may be long because it stays easy to read.
CATALOGUES = {Path("src/fleet/model/settings/table.py")}
# Entries of the root that git does not have.
LOCAL = {".build", ".git", ".venv", "dist"}
ROOT = {
    ".ci",
    ".gitignore",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "Makefile",
    "README.md",
    "SECURITY.md",
    "benchmarks",
    "checks",
    "docs",
    "pyproject.toml",
    "requirements.lock",
    "scripts",
    "src",
    "tests",
}

FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


def sizes(path: Path) -> Iterator[tuple[int, int, int, str]]:
    """Yield (lines, goal, limit, place) of the file, unless it is a catalogue, and of each of its functions."""
    text = path.read_text(encoding="utf-8")
    if path not in CATALOGUES:
        yield text.count("\n"), FILE_GOAL, FILE_LIMIT, str(path)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, FUNCTION) and node.end_lineno:
            length = node.end_lineno - node.lineno + 1
            yield length, FUNCTION_GOAL, FUNCTION_LIMIT, f"{path}:{node.lineno} {node.name}"


def unexpected_entries() -> list[str]:
    """Return the names of the entries of the root that are in neither ROOT nor LOCAL."""
    return sorted({path.name for path in Path().iterdir()} - ROOT - LOCAL)


def main() -> int:
    """Print what is above its goal or limit, and what is unexpected in the root; return the exit code."""
    files = sorted(path for path in Path("src").rglob("*.py") if path.parent != GENERATED)
    found = [measured for path in files for measured in sizes(path)]
    large = [(size, limit, where) for size, goal, limit, where in found if size > goal]
    for size, limit, where in large:
        print(f"{'too large' if size > limit else 'large'}: {where} has {size} lines (limit {limit})")
    for name in unexpected_entries():
        print(f"unexpected entry in the root: {name}")
    failed = unexpected_entries() or any(size > limit for size, limit, _ in large)
    print(f"sizes: {len(files)} files, {len(large)} things above the goal")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
