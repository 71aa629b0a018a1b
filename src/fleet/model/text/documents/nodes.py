"""A document as a tree of nodes, each with its line and column."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# How many levels deep a document may be nested.
DEEPEST = 100


class DocumentFault:
    """One fault of a document: where it is, why it is wrong, and what to write instead."""

    __slots__ = ("advice", "column", "line", "why")

    def __init__(self, *, line: int, column: int, why: str, advice: str) -> None:
        self.line = line
        self.column = column
        self.why = why
        self.advice = advice

    def as_document(self) -> dict[str, object]:
        """Return the fault as a dictionary for JSON."""
        return {"line": self.line, "column": self.column, "why": self.why, "advice": self.advice}


class UnreadableDocument(Exception):
    """Raised when a text cannot be parsed as a document; `fault` says where and why."""

    def __init__(self, fault: DocumentFault) -> None:
        self.fault = fault
        super().__init__(fault.why)


class DocumentNode:
    """One value of a document: a scalar, a list of nodes, or a table of nodes with the line and column of each key."""

    __slots__ = ("column", "keys", "line", "value")

    def __init__(
        self,
        value: Any,  # noqa: ANN401 - whatever a document can say
        line: int,
        column: int = 1,
        keys: dict[str, tuple[int, int]] | None = None,
    ) -> None:
        self.value = value
        self.line = line
        self.column = column
        self.keys = keys or {}

    @property
    def plain(self) -> Any:  # noqa: ANN401 - whatever a document can say
        """Return the value as plain Python data, without lines and columns."""
        if isinstance(self.value, dict):
            return {key: node.plain for key, node in self.value.items()}
        if isinstance(self.value, list):
            return [node.plain for node in self.value]
        return self.value

    def fault(self, why: str, advice: str = "", *, key: str = "") -> DocumentFault:
        """Return a fault at the line and column of this value, or of its key `key` if the value has that key."""
        line, column = self.keys.get(key, (self.line, self.column))
        return DocumentFault(line=line, column=column, why=why, advice=advice)
