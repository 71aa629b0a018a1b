"""What a query returns: a value with one attribute a column. The classes are generated into queries/ by `make sql`."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Self

    # Callers that still take a row for a dict may be handed one.
    class _OldRow(dict[str, Any]):
        __slots__ = ()

else:

    class _OldRow:
        """What callers use that still read columns by name in brackets, as in the dicts that rows were before."""

        __slots__ = ()

        def __getitem__(self, name: str) -> object:
            if name not in self.__slots__:
                raise KeyError(name)
            return getattr(self, name)

        def __contains__(self, name: object) -> bool:
            return name in self.__slots__

        def __or__(self, other: dict[str, object]) -> dict[str, object]:
            return {**self, **other}

        def __ror__(self, other: dict[str, object]) -> dict[str, object]:
            return {**other, **self}

        def get(self, name: str, default: object = None) -> object:
            return getattr(self, name) if name in self.__slots__ else default

        def keys(self) -> object:
            return self.as_json().keys()

        def items(self) -> object:
            return self.as_json().items()


class Row(_OldRow):
    """One row. Two rows are equal when they are of one class and all their columns are."""

    __slots__: tuple[str, ...] = ()
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, *values: object) -> None:
        raise NotImplementedError

    def as_json(self) -> dict[str, object]:
        """The columns by name, in the order of the query."""
        return {name: getattr(self, name) for name in self.__slots__}

    def replaced(self, **changes: object) -> Self:
        """The same row with other values in some columns."""
        return type(self)(**{**self.as_json(), **changes})

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Row):
            return type(self) is type(other) and self.as_json() == other.as_json()
        return self.as_json() == other  # a dict, for callers that compare them still

    def __repr__(self) -> str:
        columns = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
        return f"{type(self).__name__}({columns})"


class Query:
    """One statement. `row` is None when it writes."""

    __slots__ = ("name", "postgres", "row", "sqlite")

    def __init__(self, name: str, sqlite: str, postgres: str, row: type[Row] | None = None) -> None:
        self.name = name
        self.sqlite = sqlite
        self.postgres = postgres
        self.row = row
