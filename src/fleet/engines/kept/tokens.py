"""Tokens that a model has used, and how far the file that names them was read."""

from __future__ import annotations

from typing import NamedTuple


class Tokens(NamedTuple):
    """Tokens by their price: new input, output, input read from the cache and written to it."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    @property
    def prompt(self) -> int:
        """How long the prompt of one request was."""
        return self.input + self.cache_read + self.cache_write


class Position(NamedTuple):
    """How far a file was read: the model of its last record, which record that was, and what was counted of it."""

    offset: int = 0
    model: str = ""
    record: str = ""
    counted: Tokens = Tokens()


class Spent(NamedTuple):
    """The tokens of one answer of a model."""

    model: str
    tokens: Tokens
