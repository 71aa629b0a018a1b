"""Where a program keeps its conversations: for one that cannot be told a name at the start.

An engine's file has a table [kept]: `files` (a pattern; the first line of each file is JSON), and the way in that line to the `id` of
the conversation, the `directory` and the time (ISO 8601) in which it was `begun`.
"""

from __future__ import annotations

import glob
import json
import os
import re
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from fleet.engines.program_files import place, value_at

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.errors.given import BadSetting

_WAYS = ("id", "directory", "begun")
_LONGEST_LINE = 1_000_000
_NAME = re.compile(r"\w[\w.-]*", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """The table [kept] of an engine."""

    files: str
    id: tuple[str, ...]
    directory: tuple[str, ...]
    begun: tuple[str, ...]


def read(given: dict[str, Any], fault: Callable[[str, str], BadSetting]) -> Kept:
    """The table, each value checked."""
    for key, value in given.items():
        if key not in {"files", *_WAYS}:
            raise fault(key, f"[kept] has no {key!r}")
        if key == "files" and not isinstance(value, str):
            raise fault(key, "files is not a text")
        if key != "files" and not (isinstance(value, list) and all(isinstance(word, str) for word in value)):
            raise fault(key, f"{key} should be a list of words")
    missing = [key for key in ("files", *_WAYS) if not given.get(key)]
    if missing:
        raise fault(missing[0], f"[kept] lacks {missing[0]!r}")
    return Kept(files=given["files"], **{key: tuple(given[key]) for key in _WAYS})


def the_one(kept: Kept, directory: str, *, since: int, until: int) -> str | None:
    """The conversation that was begun in a directory within that time. Of several nobody can tell which, so it is none."""
    here = os.path.realpath(directory)
    names: set[object] = set()
    for path in glob.iglob(place(kept.files)):
        head = _first_line(path, since)
        where, begun = value_at(head, kept.directory), _milliseconds(value_at(head, kept.begun))
        if isinstance(where, str) and os.path.realpath(where) == here and begun is not None and since <= begun <= until:
            names.add(value_at(head, kept.id))
    name = names.pop() if len(names) == 1 else None
    return name if isinstance(name, str) and _NAME.fullmatch(name) else None


def _first_line(path: str, since: int) -> object:
    """Of a file that was written since then, which spares the reading of all others."""
    try:
        if os.stat(path).st_mtime * 1000 < since:
            return None
        with open(path, encoding="utf-8") as file:
            return json.loads(file.readline(_LONGEST_LINE))
    except (OSError, ValueError):
        return None


def _milliseconds(time: object) -> int | None:
    try:
        return int(datetime.fromisoformat(time).timestamp() * 1000) if isinstance(time, str) else None
    except ValueError:
        return None
