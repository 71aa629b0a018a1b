"""What a value of a job's document may be. One class a kind: it checks a value, and writes itself down as JSON Schema."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from fleet.errors.given import BadName, BadTime
from fleet.model import names
from fleet.model.text.times import duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fleet.model.jobs.yaml_tree import Fault, Node

Schema = dict[str, Any]
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")


class Kind(Protocol):
    """What a value may be."""

    @property
    def expects(self) -> str:
        """In words."""

    def faults(self, node: Node) -> Iterator[Fault]:
        """What is wrong with a value."""

    def schema(self) -> Schema:
        """The same for editors."""


def _shown(node: Node) -> str:
    if isinstance(node.value, dict | list):
        return "a mapping" if isinstance(node.value, dict) else "a list"
    return "nothing" if node.value is None else repr(node.plain)


class Scalar:
    """A value without parts."""

    expects = ""

    def accepts(self, value: object) -> bool:
        """Whether it is one."""
        raise NotImplementedError

    def faults(self, node: Node) -> Iterator[Fault]:
        """Anything else."""
        if not self.accepts(node.value):
            yield node.fault(f"expected {self.expects}, found {_shown(node)}", f"write {self.expects}")

    def schema(self) -> Schema:
        """By its class."""
        raise NotImplementedError


class Text(Scalar):
    """A text that says something."""

    expects = "a text"

    def accepts(self, value: object) -> bool:
        """Not blank."""
        return isinstance(value, str) and bool(value.strip())

    def schema(self) -> Schema:
        """A text."""
        return {"type": "string", "pattern": r"\S"}


class Name(Scalar):
    """A short name."""

    expects = "a name of lower-case letters, digits, - and _, beginning with a letter or digit"

    def accepts(self, value: object) -> bool:
        """Fit for files and placeholders."""
        return isinstance(value, str) and _NAME.fullmatch(value) is not None

    def schema(self) -> Schema:
        """A pattern."""
        return {"type": "string", "pattern": f"^{_NAME.pattern}$"}


class EngineName(Scalar):
    """The name of an engine; whether it is there is seen when the job begins."""

    expects = "an engine's name (`fleet engine list` shows them)"

    def accepts(self, value: object) -> bool:
        """As files of engines are named."""
        try:
            return isinstance(value, str) and bool(names.engine(value))
        except BadName:
            return False

    def schema(self) -> Schema:
        """A pattern."""
        return {"type": "string", "pattern": "^[a-z0-9][a-z0-9._-]{0,39}$"}


class Duration(Scalar):
    """How long."""

    expects = "a time like 30s, 45m, 2h or 3d"

    def accepts(self, value: object) -> bool:
        """As everywhere in fleet."""
        try:
            return isinstance(value, str) and duration(value) >= 0
        except BadTime:
            return False

    def schema(self) -> Schema:
        """A pattern."""
        return {"type": "string", "pattern": r"^\s*[0-9]{1,6}[smhdw]\s*$"}


class Flag(Scalar):
    """Yes or no."""

    expects = "true or false"

    def accepts(self, value: object) -> bool:
        """Nothing else."""
        return isinstance(value, bool)

    def schema(self) -> Schema:
        """A flag."""
        return {"type": "boolean"}


@dataclass(frozen=True, slots=True)
class Count(Scalar):
    """A whole number."""

    least: int
    most: int

    @property
    def expects(self) -> str:  # type: ignore[override]
        """In words."""
        return f"a whole number from {self.least} to {self.most}"

    def accepts(self, value: object) -> bool:
        """Within its bounds."""
        return isinstance(value, int) and not isinstance(value, bool) and self.least <= value <= self.most

    def schema(self) -> Schema:
        """With its bounds."""
        return {"type": "integer", "minimum": self.least, "maximum": self.most}


@dataclass(frozen=True, slots=True)
class Choice(Scalar):
    """One of a few words."""

    words: tuple[str, ...]

    @property
    def expects(self) -> str:  # type: ignore[override]
        """In words."""
        return f"{', '.join(self.words[:-1])} or {self.words[-1]}"

    def accepts(self, value: object) -> bool:
        """One of them."""
        return value in self.words

    def schema(self) -> Schema:
        """All of them."""
        return {"enum": list(self.words)}


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list of one kind; of any kind when none is said."""

    kind: Kind | None = None
    least: int = 0

    @property
    def expects(self) -> str:
        """In words."""
        return "a list" if not self.least else "a list with something in it"

    def faults(self, node: Node) -> Iterator[Fault]:
        """No list, an empty one, or what is wrong with each."""
        if not isinstance(node.value, list) or len(node.value) < self.least:
            yield node.fault(f"expected {self.expects}, found {_shown(node)}", f"write {self.expects}")
            return
        for each in node.value if self.kind else ():
            yield from self.kind.faults(each) if self.kind else ()

    def schema(self) -> Schema:
        """A list."""
        made: Schema = {"type": "array"}
        if self.kind:
            made["items"] = self.kind.schema()
        return made | ({"minItems": self.least} if self.least else {})


@dataclass(frozen=True, slots=True)
class Variables:
    """Variables with the values they have when nobody says otherwise."""

    expects: str = "variables with their values, like {LEVEL: high}"

    def faults(self, node: Node) -> Iterator[Fault]:
        """Names no shell takes, and values that are no text."""
        if not isinstance(node.value, dict):
            yield node.fault(f"expected {self.expects}, found {_shown(node)}", f"write {self.expects}")
            return
        for name, value in node.value.items():
            if _VARIABLE.fullmatch(name) is None:
                yield node.fault_at(name, f"{name!r} is no name of a variable", "use letters, digits and _")
            if not isinstance(value.value, str):
                yield value.fault(f"expected a text, found {_shown(value)}", "put it in quotes")

    def schema(self) -> Schema:
        """Texts by name."""
        pattern = {"pattern": f"^{_VARIABLE.pattern}$"}
        return {"type": "object", "propertyNames": pattern, "additionalProperties": {"type": "string"}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One key of a mapping."""

    kind: Kind
    help: str
    required: bool = False
    default: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A mapping with known keys; of some of them there is exactly one."""

    what: str
    keys: dict[str, Key] = field(default_factory=dict)
    one_of: tuple[str, ...] = ()

    @property
    def expects(self) -> str:
        """In words."""
        return f"a mapping with {' or '.join(self.one_of) or ', '.join(self.keys)}"

    def faults(self, node: Node) -> Iterator[Fault]:
        """No mapping, keys nobody knows, keys that are missing, and what is wrong with each value."""
        if not isinstance(node.value, dict):
            yield node.fault(f"expected {self.expects}, found {_shown(node)}", f"write {self.expects}")
            return
        for key, value in node.value.items():
            if key in self.keys:
                yield from self.keys[key].kind.faults(value)
            else:
                yield self._unknown(node, key)
        yield from self._missing(node)

    def _unknown(self, node: Node, key: str) -> Fault:
        near = difflib.get_close_matches(key, self.keys, n=1, cutoff=0.5)
        hint = f", did you mean {near[0]!r}?" if near else ""
        return node.fault_at(key, f"{self.what} has no key {key!r}{hint}", f"its keys are {', '.join(self.keys)}")

    def _missing(self, node: Node) -> Iterator[Fault]:
        for name, key in self.keys.items():
            if key.required and name not in node.value:
                yield node.fault(f"{self.what} lacks {name!r}: {key.help}", f"add {name}: {key.kind.expects}")
        there = [name for name in self.one_of if name in node.value]
        if self.one_of and len(there) != 1:
            found = " and ".join(there) or "none"
            why = f"{self.what} needs exactly one of {', '.join(self.one_of)}, found {found}"
            yield node.fault(why, f"write one of {', '.join(self.one_of)}")

    def schema(self) -> Schema:
        """Its keys, and nothing else."""
        made: Schema = {"type": "object", "additionalProperties": False}
        made["properties"] = {name: _described(key) for name, key in self.keys.items()}
        required = [name for name, key in self.keys.items() if key.required]
        if required:
            made["required"] = required
        if self.one_of:
            made["oneOf"] = [{"required": [name]} for name in self.one_of]
        return made


def _described(key: Key) -> Schema:
    made = {**key.kind.schema(), "description": key.help}
    return made if key.default is None else {**made, "default": key.default}


@dataclass(frozen=True, slots=True)
class ListOrTable:
    """A list, or a mapping that says where one is."""

    table: Table

    @property
    def expects(self) -> str:
        """In words."""
        return f"a list, or {self.table.expects}"

    def faults(self, node: Node) -> Iterator[Fault]:
        """By what it is."""
        if isinstance(node.value, list):
            return
        if isinstance(node.value, dict):
            yield from self.table.faults(node)
        else:
            yield node.fault(f"expected {self.expects}, found {_shown(node)}", f"write {self.expects}")

    def schema(self) -> Schema:
        """Either."""
        return {"oneOf": [ListOf().schema(), self.table.schema()]}
