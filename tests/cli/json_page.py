"""docs/reference/json.md as a test reads it: shapes by name, and what each command answers."""

import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "json.md"
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
PLAIN = {
    "text": lambda value: isinstance(value, str),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "flag": lambda value: isinstance(value, bool),
    "time": lambda value: isinstance(value, str) and TIME.fullmatch(value) is not None,
    "object": lambda value: isinstance(value, dict),
    "anything": lambda _value: True,
}

Shape = dict[str, str]


def read_page() -> tuple[dict[str, Shape], dict[str, str]]:
    """The shapes, and the answer of each command."""
    shapes: dict[str, Shape] = {}
    answers: dict[str, str] = {}
    here: Shape = {}
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            here = shapes.setdefault(line[4:], {}) if line.startswith("### ") else {}
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("| ") else []
        if cells and cells[0].startswith("`fleet "):
            answers[cells[0].strip("`").removeprefix("fleet ")] = cells[1]
        elif len(cells) == 3 and cells[0] != "key":
            here[cells[0]] = cells[1]
    return shapes, answers


def faults(value: Any, kind: str, shapes: dict[str, Shape], where: str = "") -> list[str]:
    """How a value differs from what the page says of it."""
    if kind.endswith(" or null"):
        return [] if value is None else faults(value, kind.removesuffix(" or null"), shapes, where)
    if kind.startswith(("list of ", "lines of ")):
        one = kind.split(" of ", 1)[1]
        if not isinstance(value, list):
            return [f"{where} is no list"]
        return [fault for each in value for fault in faults(each, one, shapes, f"{where}[]")]
    if " or " in kind:
        return min((faults(value, each, shapes, where) for each in kind.split(" or ")), key=len)
    if kind in shapes:
        return faults_of_object(value, shapes[kind], shapes, where)
    return [] if PLAIN[kind](value) else [f"{where} is {value!r}, not {kind}"]


def faults_of_object(value: Any, shape: Shape, shapes: dict[str, Shape], where: str) -> list[str]:
    if not isinstance(value, dict):
        return [f"{where} is no object"]
    found = [f"{where}.{key} is not on the page" for key in value if key not in shape]
    for key, kind in shape.items():
        if key in value:
            found += faults(value[key], kind.removesuffix(", if said"), shapes, f"{where}.{key}")
        elif not kind.endswith(", if said"):
            found.append(f"{where}.{key} is on the page only")
    return found
