"""Write the shapes in docs/reference/json.md from the classes of fleet/model/results; with --check compare them.

The text before MADE is written by hand, with the table of commands, which tests/cli/words/test_json_reference.py tests.
"""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

from sqlcompiler.schema import literals

from fleet.model.results.value import Value

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "json.md"
RESULTS = Path(__file__).parent.parent / "src" / "fleet" / "model" / "results"
STATES = literals(RESULTS.parent / "states.py")
MADE = "<!-- From here on this page is made from src/fleet/model/results by `make api`. -->\n"
ORDER = ["tasks", "reports", "projects", "agents", "engines", "dispatches", "merge", "coord", "views", "jobs", "home"]
FIELD = re.compile(r"    (\w+): ([^=#]+?)(?: = [^#]+?)?(?:  # (.*))?")
NAME = re.compile(r"\b[A-Z]\w+")
WORDS = {"str": "text", "int": "number", "float": "number", "bool": "flag", "Time": "time", "object": "anything"}


def page() -> str:
    """Return the text of the whole page."""
    by_hand = PAGE.read_text(encoding="utf-8").partition(MADE)[0]
    meanings = _meanings("".join(file.read_text(encoding="utf-8") for file in sorted(RESULTS.glob("*.py"))))
    printed = _printed_shapes(by_hand)
    return f"{by_hand}{MADE}{''.join(_section(name, printed, meanings) for name in ORDER)}"


def _printed_shapes(by_hand: str) -> set[str]:
    """Return the names of the classes in the table of commands, and of the classes inside them; `--json` prints these."""
    kinds = {each.__name__: " ".join(each._kinds.values()) for name in ORDER for each in _value_classes(name)}  # noqa: SLF001
    found, new = set[str](), kinds.keys() & set(NAME.findall(by_hand))
    while new:
        found |= new
        new = {inner for each in new for inner in NAME.findall(kinds[each]) if inner in kinds} - found
    return found


def _value_classes(name: str) -> list[type[Value]]:
    """Return the classes of values that a module of results defines."""
    module = importlib.import_module(f"fleet.model.results.{name}")
    classes = (each for each in vars(module).values() if isinstance(each, type) and each.__module__ == module.__name__)
    return [each for each in classes if issubclass(each, Value)]


def _section(name: str, printed: set[str], meanings: dict[tuple[str, str], str]) -> str:
    """Return the section of a module of results: its docstring and its classes."""
    shapes = "".join(_shape(each, meanings) for each in _value_classes(name) if each.__name__ in printed)
    about = importlib.import_module(f"fleet.model.results.{name}").__doc__
    return f"\n## {name.capitalize()}\n\n{about}\n{shapes}"


def _meanings(source: str) -> dict[tuple[str, str], str]:
    """Return the comment behind each field, by class and field."""
    found, here = {}, ""
    for line in source.splitlines():
        if line.startswith("class "):
            here = line[6:].partition("(")[0]
        elif field := FIELD.fullmatch(line):
            found[here, field[1]] = field[3] or ""
    return found


def _shape(shape: type[Value], meanings: dict[tuple[str, str], str]) -> str:
    """Return a class as a table of its keys, types and meanings."""
    about = f"\n{shape.__doc__}\n" if shape.__dict__.get("__doc__") else ""
    lines = (
        f"| {name.removesuffix('_')} | {_kind(kind)} | {_meaning(shape, name, meanings)} |\n"
        for name, kind in shape._kinds.items()  # noqa: SLF001
    )
    return f"\n### {shape.__name__}\n{about}\n| key | type | meaning |\n|---|---|---|\n{''.join(lines).replace('|  |', '| |')}"


def _meaning(shape: type, name: str, meanings: dict[tuple[str, str], str]) -> str:
    """Return the comment of a field, from the class or from the class that it inherits the field from."""
    return next((meanings[each.__name__, name] for each in shape.__mro__ if (each.__name__, name) in meanings), "")


def _kind(kind: str) -> str:
    """Return a type annotation in the words of the page."""
    if kind.startswith("Said["):
        return f"{_kind(kind[5:-1])}, if said"
    if kind.endswith(" | None"):
        return f"{_kind(kind.removesuffix(' | None'))} or null"
    if kind.startswith("list["):
        return f"list of {_kind(kind[5:-1])}"
    if kind.startswith("dict["):
        return "object"
    return "text" if kind in STATES else WORDS.get(kind, kind)


def main() -> int:
    """Write the page, or with --check compare it; return the exit code."""
    if "--check" not in sys.argv:
        PAGE.write_text(page(), encoding="utf-8")
        return 0
    if PAGE.read_text(encoding="utf-8") == page():
        return 0
    print("docs/reference/json.md does not match the classes: run `make api`")
    return 1


if __name__ == "__main__":
    sys.exit(main())
