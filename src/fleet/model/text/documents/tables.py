"""Kinds of values that have parts: tables with known keys, tables with any keys, and lists."""

from __future__ import annotations

from fleet.model.text.documents.kinds import Key, ValueKind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from fleet.model.text.documents.nodes import DocumentFault, DocumentNode


class Table(ValueKind):
    """A table with known keys; with `is_open`, unknown keys are allowed too.

    If `one_of` names keys, exactly one of these must be present. In messages, `what` names the table, `noun` is the
    word for its keys, and `listing` says which keys there are.
    """

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

    def faults(self, node: DocumentNode, name: str, advice: str = "") -> Iterator[DocumentFault]:
        """Yield a fault if the value is not a table, else one for each unknown or missing key, and those of values."""
        if not isinstance(node.value, dict):
            yield self.fault(node, name, advice)
            return
        for key, value in node.value.items():
            if key in self.keys:
                yield from self.keys[key].kind.faults(value, key, self.keys[key].help)
            elif not self.is_open:
                import difflib  # noqa: PLC0415 - only for the message

                near = difflib.get_close_matches(key, self.keys, n=1, cutoff=0.5)
                hint = f"did you mean {near[0]!r}?" if near else self.listing
                yield node.fault(f"unknown {self.noun} {key!r} in {self.what}", hint, key=key)
        yield from self._faults_of_missing(node)

    def _faults_of_missing(self, node: DocumentNode) -> Iterator[DocumentFault]:
        """Yield a fault for each missing required key, and one unless exactly one key of `one_of` is present."""
        for name, key in self.keys.items():
            if key.required and name not in node.value:
                meaning = f": {key.help}" if key.help else ""
                yield node.fault(f"{self.what} lacks {name!r}{meaning}", f"add {name}: {key.kind.expects}")
        present = [name for name in self.one_of if name in node.value]
        if self.one_of and len(present) != 1:
            allowed = ", ".join(self.one_of)
            why = f"{self.what} needs exactly one of {allowed}, found {' and '.join(present) or 'none'}"
            yield node.fault(why, f"write one of {allowed}")

    def _schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the table. It forbids unknown keys, even for a table that is open."""
        schema: dict[str, Any] = {"type": "object", "additionalProperties": False}
        schema["properties"] = {name: _key_schema(key) for name, key in self.keys.items()}
        required = [name for name, key in self.keys.items() if key.required]
        if required:
            schema["required"] = required
        if self.one_of:
            schema["oneOf"] = [{"required": [name]} for name in self.one_of]
        return schema


def _key_schema(key: Key) -> dict[str, Any]:
    """Return the JSON Schema of one key, with its meaning and default."""
    schema = {**key.kind.schema, "description": key.help}
    return schema if key.default is None else {**schema, "default": key.default}


class TableOf(ValueKind):
    """A table with any keys: all keys are of one kind, and all values are of one kind."""

    __slots__ = ("_names", "_values")

    def __init__(self, values: ValueKind, names: ValueKind | None = None, *, expects: str = "a table") -> None:
        super().__init__(expects, schema={"type": "object", "additionalProperties": values.schema})
        self._values = values
        self._names = names
        if names is not None:
            self.schema["propertyNames"] = names.schema

    def faults(self, node: DocumentNode, name: str, advice: str = "") -> Iterator[DocumentFault]:
        """Yield a fault if the value is not a table, else one for each key and each value that is not of its kind."""
        if not isinstance(node.value, dict):
            yield self.fault(node, name, advice)
            return
        for key, value in node.value.items():
            if self._names is not None and not self._names.accepts(key):
                yield node.fault(f"{key!r} is not {self._names.expects}", advice, key=key)
            yield from self._values.faults(value, key)


class ListOf(ValueKind):
    """A list of at least `least` values of one kind."""

    __slots__ = ("_kind", "_least")

    def __init__(self, kind: ValueKind, least: int = 0, *, expects: str = "") -> None:
        super().__init__(expects or ("a list with at least one value" if least else "a list"))
        self._kind = kind
        self._least = least
        parts = {"items": kind.schema, "minItems": least}
        self.schema = {"type": "array"} | {name: part for name, part in parts.items() if part}

    def faults(self, node: DocumentNode, name: str, advice: str = "") -> Iterator[DocumentFault]:
        """Yield a fault if the value is not a list or is too short, else the faults of its entries."""
        if not isinstance(node.value, list) or len(node.value) < self._least:
            yield self.fault(node, name, advice)
            return
        for each in node.value:
            yield from self._kind.faults(each, f"an item of {name}")


class ListOrTable(ValueKind):
    """A list, or a table that says where the list is."""

    __slots__ = ("_table",)

    def __init__(self, table: Table) -> None:
        super().__init__(f"a list, or {table.expects}", schema={"oneOf": [{"type": "array"}, table.schema]})
        self._table = table

    def faults(self, node: DocumentNode, name: str, advice: str = "") -> Iterator[DocumentFault]:
        """Yield the faults of a table, or one fault if the value is neither a list nor a table."""
        if isinstance(node.value, dict):
            yield from self._table.faults(node, name, advice)
        elif not isinstance(node.value, list):
            yield self.fault(node, name, advice)
