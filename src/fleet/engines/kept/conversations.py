"""Find the conversation of an agent whose engine cannot be given a conversation name at the start.

An engine's file has a table [kept]: `files` (a pattern; the first line of each file is JSON), and the keys in that line
that lead to the `id` of the conversation, its `directory`, and the time (ISO 8601) when it was `begun`.
"""

from __future__ import annotations

import os

from fleet.engines.program_files import expand_path, value_at
from fleet.fast import glob, json, re
from fleet.model.text.documents.kinds import SOME_WORDS, Key, ValueKind
from fleet.model.text.documents.tables import Table
from fleet.records import record
from fleet.world.git.pointers import open_regular

_LONGEST_LINE = 1_000_000
_NAME = r"\w[\w.-]*"


@record(frozen=True, slots=True, kw_only=True)
class Kept:
    """The table [kept] of an engine's file."""

    files: str
    id: tuple[str, ...]
    directory: tuple[str, ...]
    begun: tuple[str, ...]


TABLE = Table(
    "[kept]",
    {
        "files": Key(ValueKind("a text", lambda value: isinstance(value, str) and value != ""), required=True),
        **dict.fromkeys(("id", "directory", "begun"), Key(SOME_WORDS, required=True)),
    },
)


def only_conversation(kept: Kept, directory: str, *, since: int, until: int) -> str | None:
    """Return the id of the conversation that was begun in a directory from `since` to `until`, both included.

    The times are in milliseconds. None when there is no such conversation, or several, or its id is not a plain name.
    """
    here = os.path.realpath(directory)
    names: set[str | None] = set()
    for path in glob.iglob(expand_path(kept.files)):
        head = _first_line_as_json(path, since)
        begun = _begin_time(value_at(head, kept.begun))
        if begun is not None and since <= begun <= until and _real_path(value_at(head, kept.directory)) == here:
            name = value_at(head, kept.id)
            names.add(name if isinstance(name, str) else None)
    only = names.pop() if len(names) == 1 else None
    return only if only is not None and re.fullmatch(_NAME, only, re.ASCII) else None


def _first_line_as_json(path: str, since: int) -> object:
    """Return the JSON in a file's first line.

    None when the file was last written before `since` (milliseconds), cannot be read, is no regular file, does not begin
    with JSON, or with JSON that is nested too deep to be read.
    """
    try:
        if os.stat(path).st_mtime * 1000 < since:
            return None
        with open(open_regular(path), encoding="utf-8") as file:
            return json.loads(file.readline(_LONGEST_LINE))
    except (OSError, ValueError, RecursionError):
        return None


def _real_path(path: object) -> str | None:
    """Return a path with all symlinks resolved; None for a value that is no path."""
    try:
        return os.path.realpath(path) if isinstance(path, str) else None
    except ValueError:  # it has a NUL or a surrogate
        return None


def _begin_time(time: object) -> int | None:
    """Return the milliseconds of an ISO 8601 time, by default in the machine's zone; None for any other value."""
    from datetime import datetime  # noqa: PLC0415 - a large import, which listing agents does not need

    try:
        return int(datetime.fromisoformat(time).timestamp() * 1000) if isinstance(time, str) else None
    except ValueError:
        return None
