"""A named query, in both dialects. The texts are in sql/; `make sql` compiles them into queries.py."""

from __future__ import annotations


class Query:
    """One statement."""

    __slots__ = ("name", "postgres", "sqlite")

    def __init__(self, name: str, sqlite: str, postgres: str) -> None:
        self.name = name
        self.sqlite = sqlite
        self.postgres = postgres
