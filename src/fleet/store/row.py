"""The base classes of the rows and queries that `make sql` generates into queries/."""

from __future__ import annotations

from fleet.model.results.value import Value


class Row(Value):
    """One row of a query's result. It has one attribute for each column."""

    __slots__ = ()

    def __init__(self, *values: object) -> None:
        raise NotImplementedError


class Query:
    """One SQL statement, in the dialects of SQLite and PostgreSQL.

    `row` is the class of the rows that it returns; None for a statement that writes.
    """

    __slots__ = ("name", "postgres", "row", "sqlite")

    def __init__(self, name: str, sqlite: str, postgres: str, row: type[Row] | None = None) -> None:
        self.name = name
        self.sqlite = sqlite
        self.postgres = postgres
        self.row = row
