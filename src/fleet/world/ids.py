"""Randomness."""

from __future__ import annotations

from os import urandom


class Ids:
    """Fresh names for things."""

    __slots__ = ()

    def dispatch(self) -> str:
        """Eight hexadecimal digits."""
        return urandom(4).hex()

    def key(self) -> str:
        """A name for one request, which nobody else will ever use."""
        return urandom(12).hex()
