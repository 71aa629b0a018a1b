"""TOML as a tree. tomllib does not tell where a key is written, so its line is looked for."""

from __future__ import annotations

import re
import tomllib
from typing import Any

from fleet.model.text.documents.nodes import DEEPEST, Fault, Node, Unreadable

_HEAD = re.compile(r"\s*(\[\[?)\s*([\w.\-\"' ]+?)\s*\]")
_KEY = re.compile(r"\s*([\w.\-\"' ]+?)\s*=")


def parse(text: str) -> Node:
    """The tree of a text, or Unreadable."""
    try:
        return _node(tomllib.loads(text), "", 1, _lines(text))
    except RecursionError:
        raise _unreadable(_most_nested(text), "it is nested too deep", "write it flat") from None
    except tomllib.TOMLDecodeError as error:
        where = re.search(r"\(at line (\d+)", str(error))
        last = text.count("\n") + (not text.endswith("\n"))
        why = re.sub(r" \(at .*\)$", "", str(error))
        raise _unreadable(int(where[1]) if where else last, why, "see https://toml.io for the syntax") from None


def _unreadable(line: int, why: str, advice: str) -> Unreadable:
    return Unreadable(Fault(line=line, column=1, why=why, advice=advice))


def _most_nested(text: str) -> int:
    """The line with the most brackets and dots."""
    weights = [sum(line.count(sign) for sign in "[{.") for line in text.split("\n")]
    return weights.index(max(weights)) + 1


def _node(value: Any, path: str, line: int, lines: dict[str, int], depth: int = 0) -> Node:  # noqa: ANN401
    """A value and what is inside it. What is written inline has the line of the table around it."""
    if depth > DEEPEST:
        raise RecursionError

    def inner(key: object, below: object) -> Node:
        place = f"{path}.{key}" if path else str(key)
        return _node(below, place, lines.get(place, line), lines, depth + 1)

    if isinstance(value, list):
        return Node([inner(number, each) for number, each in enumerate(value)], line)
    if not isinstance(value, dict):
        return Node(value, line)
    made = {key: inner(key, below) for key, below in value.items()}
    return Node(made, line, keys={key: (node.line, 1) for key, node in made.items()})


def _lines(text: str) -> dict[str, int]:
    """The line of each table and key by its dotted name; tables of a list are numbered."""
    here, found, numbered = "", dict[str, int](), dict[str, int]()
    for number, line in enumerate(text.split("\n"), 1):
        if head := _HEAD.match(line):
            here = _plain(head[2])
            found.setdefault(here, number)
            if head[1] == "[[":
                numbered[here] = numbered.get(here, -1) + 1
                here = f"{here}.{numbered[here]}"
                found[here] = number
        elif said := _KEY.match(line):
            found.setdefault(f"{here}.{_plain(said[1])}".strip("."), number)
    return found


def _plain(key: str) -> str:
    return key.replace('"', "").replace("'", "").replace(" ", "")
