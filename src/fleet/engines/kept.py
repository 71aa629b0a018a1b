"""Where a program keeps its conversations: for one that cannot be told a name at the start.

An engine's file has a table [kept]: `files` (a pattern; the first line of each file is a record) or `list` (the words of a command
that prints a list of records), both as JSON; and the way to `id`, `directory` and `begun` (milliseconds, or ISO 8601) in a record.
"""

from __future__ import annotations

import glob
import json
import os
import re
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from fleet.engines.places import place, value_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from fleet.errors import BadSetting

_WAYS = ("id", "directory", "begun")
_LONGEST_LINE = 1_000_000
_NAME = re.compile(r"\w[\w.-]*", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """The table [kept] of an engine."""

    id: tuple[str, ...]
    directory: tuple[str, ...]
    begun: tuple[str, ...]
    files: str = ""
    list: tuple[str, ...] = ()


def read(given: dict[str, Any], fault: Callable[[str, str], BadSetting]) -> Kept:
    """The table, each value checked."""
    for key, value in given.items():
        if key not in {*_WAYS, "files", "list"}:
            raise fault(key, f"[kept] has no {key!r}")
        if key == "files" and not isinstance(value, str):
            raise fault(key, "files is not a text")
        if key != "files" and not (isinstance(value, list) and all(isinstance(word, str) for word in value)):
            raise fault(key, f"{key} should be a list of words")
    missing = [key for key in _WAYS if not given.get(key)]
    if missing:
        raise fault(missing[0], f"[kept] lacks {missing[0]!r}")
    if bool(given.get("files")) == bool(given.get("list")):
        raise fault("files", "[kept] needs either files or list")
    words = {key: tuple(value) for key, value in given.items() if key != "files"}
    return Kept(files=given.get("files", ""), **words)


def in_files(kept: Kept, since: int) -> list[object]:
    """The records of the files that were written since then. One that cannot be read has none."""
    return [record for path in glob.iglob(place(kept.files)) if (record := _first(path, since)) is not None]


def _first(path: str, since: int) -> object:
    try:
        if os.stat(path).st_mtime * 1000 < since:
            return None
        with open(path, encoding="utf-8") as file:
            return json.loads(file.readline(_LONGEST_LINE))
    except (OSError, ValueError):
        return None


def in_text(text: str) -> list[object]:
    """The records that a command has printed."""
    try:
        found = json.loads(text)
    except ValueError:
        return []
    return found if isinstance(found, list) else []


def the_one(kept: Kept, records: Iterable[object], directory: str, *, since: int, until: int) -> str | None:
    """The conversation that was begun in a directory within that time. Of several nobody can tell which, so it is none."""
    here = os.path.realpath(directory)
    found: set[object] = set()
    for record in records:
        told, begun = value_at(record, kept.directory), _milliseconds(value_at(record, kept.begun))
        if isinstance(told, str) and os.path.realpath(told) == here and begun is not None and since <= begun <= until:
            found.add(value_at(record, kept.id))
    name = found.pop() if len(found) == 1 else None
    return name if isinstance(name, str) and _NAME.fullmatch(name) else None


def _milliseconds(told: object) -> int | None:
    if isinstance(told, int) and not isinstance(told, bool):
        return told
    try:
        return int(datetime.fromisoformat(told).timestamp() * 1000) if isinstance(told, str) else None
    except ValueError:
        return None
