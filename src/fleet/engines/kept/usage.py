"""Read how many tokens an agent has used from the files in which its engine keeps conversations.

An engine's file has a table [usage]: `files` (patterns with {conversation}; each line of such a file is JSON), and the
keys that lead to the `model`, to the `record` and to the numbers of tokens. Lines with the same `record` describe the
same answer, and the last one counts; without a `record` the numbers are growing totals. For an engine without the table
the usage is unknown.
"""

from __future__ import annotations

import glob
import json
import os

from fleet.engines.kept.tokens import Position, Spent, Tokens
from fleet.engines.program_files import expand_path, value_at
from fleet.model.text.documents.kinds import FLAG, SOME_WORDS, Key
from fleet.model.text.documents.tables import Table
from fleet.records import record

# How much of a file is read at once, except that a longer line is read whole; the rest is read the next time.
MOST_BYTES = 8_000_000


@record(frozen=True, slots=True, kw_only=True)
class Usage:
    """The table [usage] of an engine's file."""

    files: tuple[str, ...]
    model: tuple[str, ...]
    input: tuple[str, ...]
    output: tuple[str, ...]
    # Output tokens that the engine counts apart from `output`.
    thoughts: tuple[str, ...] = ()
    cache_read: tuple[str, ...] = ()
    cache_write: tuple[str, ...] = ()
    record: tuple[str, ...] = ()
    # Whether the number of input tokens contains those that were read from the cache.
    input_has_cache: bool = False


TABLE = Table(
    "[usage]",
    {
        **dict.fromkeys(("files", "model", "input", "output"), Key(SOME_WORDS, required=True)),
        **dict.fromkeys(("thoughts", "cache_read", "cache_write", "record"), Key(SOME_WORDS)),
        "input_has_cache": Key(FLAG),
    },
)


def files_of(usage: Usage, conversation: str) -> list[str]:
    """Return the files of a conversation and of its sub-agents, with symlinks resolved."""
    filled = (_fill_pattern(expand_path(pattern), conversation) for pattern in usage.files)
    return sorted({os.path.realpath(path) for pattern in filled for path in glob.glob(pattern)})


def _fill_pattern(pattern: str, conversation: str) -> str:
    """Return a file pattern with the conversation's id, or its first 8 characters, filled in."""
    short = pattern.replace("{conversation:8}", glob.escape(conversation[:8]))
    return short.replace("{conversation}", glob.escape(conversation))


def read_new(usage: Usage, path: str, position: Position) -> tuple[list[Spent], Position]:
    """Return the tokens in the complete lines after a position, and the position after these lines.

    A file that is shorter than the position was replaced: nothing in it is counted, and reading continues at its end.
    """
    size = os.path.getsize(path)
    if size < position.offset:
        return [], Position(offset=size)
    with open(path, "rb") as file:
        file.seek(position.offset)
        data = file.read(MOST_BYTES)
        if b"\n" not in data:
            data += file.readline()
    whole = data[: data.rfind(b"\n") + 1]
    spent: list[Spent] = []
    for line in whole.splitlines():
        position = _read_line(usage, line, position, spent)
    return spent, position._replace(offset=position.offset + len(whole))


def _read_line(usage: Usage, line: bytes, position: Position, spent: list[Spent]) -> Position:
    """Add the tokens in one line to `spent`; return the position with the line's model and record."""
    try:
        given = json.loads(line)
    except ValueError:
        return position
    model = value_at(given, usage.model)
    if isinstance(model, str) and model:
        position = position._replace(model=model)
    tokens = _tokens_in_line(usage, given)
    if tokens is None:
        return position
    record = str(value_at(given, usage.record) or "") if usage.record else ""
    before = position.counted if record == position.record else Tokens()
    grown = Tokens(*(max(new - old, 0) for new, old in zip(tokens, before, strict=True)))
    if sum(tokens) < sum(before) and not usage.record:  # the engine has begun to count anew
        grown = tokens
    if any(grown):
        spent.append(Spent(position.model, grown))
    return position._replace(record=record, counted=tokens)


def _tokens_in_line(usage: Usage, given: object) -> Tokens | None:
    """Return the numbers of tokens in a line; None when it has none."""
    fresh, output = _token_number(given, usage.input), _token_number(given, usage.output)
    if fresh is None or output is None:
        return None
    cache_read, cache_write = _token_number(given, usage.cache_read) or 0, _token_number(given, usage.cache_write) or 0
    if usage.input_has_cache:
        fresh = max(fresh - cache_read, 0)
    return Tokens(fresh, output + (_token_number(given, usage.thoughts) or 0), cache_read, cache_write)


def _token_number(given: object, way: tuple[str, ...]) -> int | None:
    """Return the number of tokens at these keys of a line; None when there is none."""
    value = value_at(given, way) if way else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
