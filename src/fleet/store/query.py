"""A named query, in both dialects, with the class of its rows. `make sql` compiles them from sql/ into queries/."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.store.row import Row


class Query:
    """One statement. `row` is None when it writes."""

    __slots__ = ("name", "postgres", "row", "sqlite")

    def __init__(self, name: str, sqlite: str, postgres: str, row: type[Row] | None = None) -> None:
        self.name = name
        self.sqlite = sqlite
        self.postgres = postgres
        self.row = row
