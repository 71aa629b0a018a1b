"""Parse TOML into a tree. tomllib does not say where a key is, so this module searches for its line."""

from __future__ import annotations

import re
import tomllib
from typing import Any

from fleet.model.text.documents.nodes import DEEPEST, DocumentFault, DocumentNode, UnreadableDocument

_HEAD = re.compile(r"\s*(\[\[?)\s*([\w.\-\"' ]+?)\s*\]")
_KEY = re.compile(r"\s*([\w.\-\"' ]+?)\s*=")


def parse(text: str) -> DocumentNode:
    """Return the tree of a TOML text; raise UnreadableDocument when the text is not TOML or nested too deep."""
    try:
        return _node(tomllib.loads(text), "", 1, _lines(text))
    except RecursionError:
        raise _unreadable(_most_nested(text), "it is nested too deep", "write it flat") from None
    except tomllib.TOMLDecodeError as error:
        where = re.search(r"\(at line (\d+)", str(error))
        last = text.count("\n") + (not text.endswith("\n"))
        why = re.sub(r" \(at .*\)$", "", str(error))
        raise _unreadable(int(where[1]) if where else last, why, "see https://toml.io for the syntax") from None


def _unreadable(line: int, why: str, advice: str) -> UnreadableDocument:
    return UnreadableDocument(DocumentFault(line=line, column=1, why=why, advice=advice))


def _most_nested(text: str) -> int:
    """Return the number of the line that is probably nested deepest: it has the most opening brackets and dots."""
    weights = [sum(line.count(sign) for sign in "[{.") for line in text.split("\n")]
    return weights.index(max(weights)) + 1


def _node(value: Any, path: str, line: int, lines: dict[str, int], depth: int = 0) -> DocumentNode:  # noqa: ANN401
    """Return the tree of a value whose dotted name is `path`; raise RecursionError when it is nested too deep.

    `lines` maps dotted names to line numbers. A value whose name is not in `lines`, as in an inline table, gets `line`,
    the number of its table's line.
    """
    if depth > DEEPEST:
        raise RecursionError

    def inner(key: object, below: object) -> DocumentNode:
        place = f"{path}.{key}" if path else str(key)
        return _node(below, place, lines.get(place, line), lines, depth + 1)

    if isinstance(value, list):
        return DocumentNode([inner(number, each) for number, each in enumerate(value)], line)
    if not isinstance(value, dict):
        return DocumentNode(value, line)
    nodes = {key: inner(key, below) for key, below in value.items()}
    return DocumentNode(nodes, line, keys={key: (node.line, 1) for key, node in nodes.items()})


def _lines(text: str) -> dict[str, int]:
    """Return the line of each table and key by its dotted name. Tables of an array are numbered from 0."""
    table, lines, numbered = "", dict[str, int](), dict[str, int]()
    for number, line in enumerate(text.split("\n"), 1):
        if head := _HEAD.match(line):
            table = _without_quotes(head[2])
            lines.setdefault(table, number)
            if head[1] == "[[":
                numbered[table] = numbered.get(table, -1) + 1
                table = f"{table}.{numbered[table]}"
                lines[table] = number
        elif key := _KEY.match(line):
            lines.setdefault(f"{table}.{_without_quotes(key[1])}".strip("."), number)
    return lines


def _without_quotes(key: str) -> str:
    return key.replace('"', "").replace("'", "").replace(" ", "")
