"""What a value with parts may be: a table with known keys, a table of any names, a list."""

from __future__ import annotations

import difflib

from fleet.model.text.documents.kinds import Key, Kind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from fleet.model.text.documents.nodes import Fault, Node


class Table(Kind):
    """Known keys, each with its kind; of some of them there is exactly one. An open table may have others beside them."""

    __slots__ = ("is_open", "keys", "listing", "noun", "one_of", "what")

    def __init__(
        self,
        what: str,
        keys: Mapping[str, Key],
        *,
        one_of: tuple[str, ...] = (),
        is_open: bool = False,
        noun: str = "key",
        listing: str = "",
    ) -> None:
        super().__init__(f"a table with {' or '.join(one_of) or ', '.join(keys)}")
        self.what = what
        self.keys = keys
        self.one_of = one_of
        self.is_open = is_open
        self.noun = noun
        self.listing = listing or f"there are {', '.join(keys)}"
        self.schema = self._schema()

    def faults(self, node: Node, name: str, advice: str = "") -> Iterator[Fault]:
        """No table, keys nobody knows, keys that are missing, and what is wrong with each value."""
        if not isinstance(node.value, dict):
            yield self.fault(node, name, advice)
            return
        for each, value in node.value.items():
            if each in self.keys:
                yield from self.keys[each].kind.faults(value, each, self.keys[each].help)
            elif not self.is_open:
                near = difflib.get_close_matches(each, self.keys, n=1, cutoff=0.5)
                hint = f"did you mean {near[0]!r}?" if near else self.listing
                yield node.fault(f"unknown {self.noun} {each!r} in {self.what}", hint, key=each)
        yield from self._missing(node)

    def _missing(self, node: Node) -> Iterator[Fault]:
        for name, key in self.keys.items():
            if key.required and name not in node.value:
                meaning = f": {key.help}" if key.help else ""
                yield node.fault(f"{self.what} lacks {name!r}{meaning}", f"add {name}: {key.kind.expects}")
        there = [name for name in self.one_of if name in node.value]
        if self.one_of and len(there) != 1:
            allowed = ", ".join(self.one_of)
            why = f"{self.what} needs exactly one of {allowed}, found {' and '.join(there) or 'none'}"
            yield node.fault(why, f"write one of {allowed}")

    def _schema(self) -> dict[str, Any]:
        made: dict[str, Any] = {"type": "object", "additionalProperties": False}
        made["properties"] = {name: _described(key) for name, key in self.keys.items()}
        required = [name for name, key in self.keys.items() if key.required]
        if required:
            made["required"] = required
        if self.one_of:
            made["oneOf"] = [{"required": [name]} for name in self.one_of]
        return made


def _described(key: Key) -> dict[str, Any]:
    made = {**key.kind.schema, "description": key.help}
    return made if key.default is None else {**made, "default": key.default}


class TableOf(Kind):
    """Any names of one kind, with values of one kind."""

    __slots__ = ("_names", "_values")

    def __init__(self, values: Kind, names: Kind | None = None, *, expects: str = "a table") -> None:
        super().__init__(expects, schema={"type": "object", "additionalProperties": values.schema})
        self._values = values
        self._names = names
        if names is not None:
            self.schema["propertyNames"] = names.schema

    def faults(self, node: Node, name: str, advice: str = "") -> Iterator[Fault]:
        """No table, or what is wrong with each name and value."""
        if not isinstance(node.value, dict):
            yield self.fault(node, name, advice)
            return
        for each, value in node.value.items():
            if self._names is not None and not self._names.accepts(each):
                yield node.fault(f"{each!r} is not {self._names.expects}", advice, key=each)
            yield from self._values.faults(value, each)


class ListOf(Kind):
    """A list of one kind."""

    __slots__ = ("_kind", "_least")

    def __init__(self, kind: Kind, least: int = 0, *, expects: str = "") -> None:
        super().__init__(expects or ("a list with something in it" if least else "a list"))
        self._kind = kind
        self._least = least
        parts = {"items": kind.schema, "minItems": least}
        self.schema = {"type": "array"} | {name: part for name, part in parts.items() if part}

    def faults(self, node: Node, name: str, advice: str = "") -> Iterator[Fault]:
        """No list, an empty one, or what is wrong with each."""
        if not isinstance(node.value, list) or len(node.value) < self._least:
            yield self.fault(node, name, advice)
            return
        for each in node.value:
            yield from self._kind.faults(each, f"an item of {name}")


class ListOrTable(Kind):
    """A list, or a table that says where one is."""

    __slots__ = ("_table",)

    def __init__(self, table: Table) -> None:
        super().__init__(f"a list, or {table.expects}", schema={"oneOf": [{"type": "array"}, table.schema]})
        self._table = table

    def faults(self, node: Node, name: str, advice: str = "") -> Iterator[Fault]:
        """By what it is."""
        if isinstance(node.value, dict):
            yield from self._table.faults(node, name, advice)
        elif not isinstance(node.value, list):
            yield self.fault(node, name, advice)
