"""Read numbers of tokens from the files in which an engine records them, each line once."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, NamedTuple

from fleet.engines.program_files import value_at
from fleet.world.git.pointers import open_regular

if TYPE_CHECKING:
    from fleet.engines.kept.usage import Usage

# How many bytes of a file are read at once, except that a longer line is read whole; the rest is read the next time.
MOST_BYTES = 8_000_000
# How many bytes of a longer line are read beyond that. No engine writes such a line.
_LONGEST_LINE = 64_000_000
# A larger number is no number of tokens. Sums of smaller ones fit into the integers of a database.
_MOST_TOKENS = 1_000_000_000_000


class Tokens(NamedTuple):
    """Numbers of tokens by sort: new input, output, input read from the cache, and input written to the cache."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    @property
    def prompt(self) -> int:
        """Return the length of a request's prompt in tokens."""
        return self.input + self.cache_read + self.cache_write


class Position(NamedTuple):
    """How far a file was read: the offset in bytes, the last model, and the last record's id and counted tokens."""

    offset: int = 0
    model: str = ""
    record: str = ""
    counted: Tokens = Tokens()


class SpentTokens(NamedTuple):
    """The tokens of one answer that were not counted before; `model` is "" when the model is not known yet."""

    model: str
    tokens: Tokens


def read_new(usage: Usage, path: str, position: Position) -> tuple[list[SpentTokens], Position]:
    """Return the tokens in the complete lines after a position, and the position after these lines.

    Read at most 8 MB, or one longer line. Raise OSError when the file cannot be read, or is no regular file.

    When the file is shorter than the position, it was replaced: nothing in it is counted, and the returned position is
    its end. When a line is longer than 72 MB, it and what follows it so far are passed over in the same way.
    """
    with open(open_regular(path), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size < position.offset:
            return [], Position(offset=size)
        file.seek(position.offset)
        data = file.read(MOST_BYTES)
        if b"\n" not in data:
            data += file.readline(_LONGEST_LINE)
    if len(data) >= MOST_BYTES + _LONGEST_LINE and b"\n" not in data:
        return [], position._replace(offset=size)
    whole = data[: data.rfind(b"\n") + 1]
    spent: list[SpentTokens] = []
    for line in whole.splitlines():
        position = _read_line(usage, line, position, spent)
    return spent, position._replace(offset=position.offset + len(whole))


def _read_line(usage: Usage, line: bytes, position: Position, spent: list[SpentTokens]) -> Position:
    """Add the tokens of one line that were not counted before to `spent`.

    Return the position with the line's model, record and tokens, and its offset unchanged. What the line does not say
    stays as it was; a line that is not JSON, or is nested too deep to be read, changes nothing.
    """
    try:
        given = json.loads(line)
    except (ValueError, RecursionError):
        return position
    model = value_at(given, usage.model)
    if isinstance(model, str) and model:
        position = position._replace(model=_valid_text(model))
    tokens = _tokens_in_line(usage, given)
    if tokens is None:
        return position
    record = _valid_text(value_at(given, usage.record) or "") if usage.record else ""
    before = position.counted if record == position.record else Tokens()
    grown = Tokens(*(max(new - old, 0) for new, old in zip(tokens, before, strict=True)))
    if sum(tokens) < sum(before) and not usage.record:  # the engine has begun to count anew
        grown = tokens
    if any(grown):
        spent.append(SpentTokens(position.model, grown))
    return position._replace(record=record, counted=tokens)


def _valid_text(value: object) -> str:
    """Return a value as text, with "?" for each surrogate: no database stores these."""
    return str(value).encode(errors="replace").decode()


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
    """Return the number of tokens to which the keys `way` lead in a line; None when they lead to none.

    A number that is negative or larger than 10^12 is no number of tokens.
    """
    value = value_at(given, way) if way else None
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 <= value <= _MOST_TOKENS else None
