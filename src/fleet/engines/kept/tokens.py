"""Numbers of tokens, and how far the file that records them was read."""

from __future__ import annotations

from typing import NamedTuple


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
    """How far a file was read: the offset, the model and id of the last record, and the tokens counted for that record."""

    offset: int = 0
    model: str = ""
    record: str = ""
    counted: Tokens = Tokens()


class Spent(NamedTuple):
    """The tokens of one answer of a model."""

    model: str
    tokens: Tokens
