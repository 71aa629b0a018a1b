"""What a query returns: a value with one attribute a column. The classes are generated into queries/ by `make sql`."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import ItemsView, KeysView
    from typing import Any, Self


class Row:
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
        if isinstance(other, dict):  # as below
            return self.as_json() == other
        return type(self) is type(other) and self.as_json() == other.as_json()

    def __repr__(self) -> str:
        columns = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
        return f"{type(self).__name__}({columns})"

    # For callers that still read columns by name in brackets, as in the dicts that rows were before.

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - the type of a column is known to its attribute alone
        if name not in self.__slots__:
            raise KeyError(name)
        return getattr(self, name)

    def __contains__(self, name: object) -> bool:
        return name in self.__slots__

    def __or__(self, other: dict[str, Any]) -> dict[str, Any]:
        return {**self, **other}

    def __ror__(self, other: dict[str, Any]) -> dict[str, Any]:
        return {**other, **self}

    def get(self, name: str, default: object = None) -> Any:  # noqa: ANN401 - as above
        return getattr(self, name) if name in self.__slots__ else default

    def keys(self) -> KeysView[str]:
        return self.as_json().keys()

    def items(self) -> ItemsView[str, object]:
        return self.as_json().items()
