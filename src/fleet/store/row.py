"""What a query returns: a value with one attribute a column. The classes are generated into queries/ by `make sql`."""

from __future__ import annotations

from fleet.model.results.value import Value


class Row(Value):
    """One row. Its columns are set one by one, because thousands of rows are made at a time."""

    __slots__ = ()

    def __init__(self, *values: object) -> None:
        raise NotImplementedError


class Query:
    """One statement. `row` is None when it writes."""

    __slots__ = ("name", "postgres", "row", "sqlite")

    def __init__(self, name: str, sqlite: str, postgres: str, row: type[Row] | None = None) -> None:
        self.name = name
        self.sqlite = sqlite
        self.postgres = postgres
        self.row = row
