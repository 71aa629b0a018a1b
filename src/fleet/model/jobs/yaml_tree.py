"""YAML as a tree in which every value knows its line and column. No object is ever made from a tag."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import yaml

_MOST_NODES = 200_000
_DEEPEST = 100
_TOO_DEEP = f"it is nested more than {_DEEPEST} levels deep"
_PLAIN = {"str": str, "int": int, "float": float}
_WORDS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What is wrong, where, and what to write instead."""

    line: int
    column: int
    why: str
    advice: str

    def as_document(self) -> dict[str, Any]:
        """For programs."""
        return {"line": self.line, "column": self.column, "why": self.why, "advice": self.advice}


class Unreadable(Exception):
    """The text is no YAML, or not such as a job is written in."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        super().__init__(fault.why)


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One value: a scalar, a list of nodes, or nodes by their keys, each key with its place."""

    value: Any
    line: int
    column: int
    keys: dict[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def plain(self) -> Any:  # noqa: ANN401 - whatever YAML can say
        """The value without its places."""
        if isinstance(self.value, dict):
            return {key: node.plain for key, node in self.value.items()}
        if isinstance(self.value, list):
            return [node.plain for node in self.value]
        return self.value

    def fault(self, why: str, advice: str = "") -> Fault:
        """Something is wrong with this value."""
        return Fault(line=self.line, column=self.column, why=why, advice=advice)

    def fault_at(self, key: str, why: str, advice: str = "") -> Fault:
        """Something is wrong with a key of this value."""
        line, column = self.keys.get(key, (self.line, self.column))
        return Fault(line=line, column=column, why=why, advice=advice)


def parse(text: str) -> Node:
    """The tree of a text, or Unreadable."""
    try:
        composed = yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        said = " ".join(part for part in (error.context, error.problem) if part)
        raise _unreadable(*place, f"this is no YAML: {said}") from None
    except yaml.YAMLError as error:
        raise _unreadable(1, 1, f"this is no YAML: {' '.join(str(error).split())}") from None
    if composed is None:
        raise _unreadable(1, 1, "the file is empty")
    return _Builder().node(composed, ())


def _unreadable(line: int, column: int, why: str) -> Unreadable:
    return Unreadable(Fault(line=line, column=column, why=why, advice="`fleet job validate --help` shows an example"))


class _Loader(yaml.SafeLoader):
    """Refuses a text that is nested too deep, before Python's stack does."""

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self._depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:  # noqa: ANN401 - as in PyYAML
        """One node, and what is inside it."""
        if self._depth > _DEEPEST:
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise _unreadable(mark.line + 1, mark.column + 1, _TOO_DEEP)
        self._depth += 1
        try:
            return super().compose_node(parent, index)
        finally:
            self._depth -= 1


class _Builder:
    """Makes the tree, and refuses what would make it endless."""

    def __init__(self) -> None:
        self._made = 0

    def node(self, given: yaml.Node, above: tuple[int, ...]) -> Node:
        line, column = given.start_mark.line + 1, given.start_mark.column + 1
        self._made += 1
        if id(given) in above or self._made > _MOST_NODES:
            raise _unreadable(line, column, "an alias repeats too much")
        if len(above) > _DEEPEST:  # by aliases within aliases
            raise _unreadable(line, column, _TOO_DEEP)
        inside = (*above, id(given))
        if isinstance(given, yaml.MappingNode):
            return self._mapping(given, line, column, inside)
        if isinstance(given, yaml.SequenceNode):
            return Node(value=[self.node(each, inside) for each in given.value], line=line, column=column)
        return Node(value=_scalar(given, line, column), line=line, column=column)

    def _mapping(self, given: yaml.MappingNode, line: int, column: int, inside: tuple[int, ...]) -> Node:
        value: dict[str, Node] = {}
        keys: dict[str, tuple[int, int]] = {}
        for key, below in given.value:
            place = key.start_mark.line + 1, key.start_mark.column + 1
            if not isinstance(key, yaml.ScalarNode):
                raise _unreadable(*place, "a key should be a text")
            if key.value in value:
                raise _unreadable(*place, f"the key {key.value!r} is there twice")
            value[key.value] = self.node(below, inside)
            keys[key.value] = place
        return Node(value=value, line=line, column=column, keys=keys)


def _scalar(given: yaml.Node, line: int, column: int) -> Any:  # noqa: ANN401 - whatever YAML can say
    kind = given.tag.removeprefix("tag:yaml.org,2002:")
    text = str(given.value)
    if kind == "null":
        return None
    if kind == "bool":
        return _WORDS[text.lower()]
    if kind not in _PLAIN:
        return text if kind == "timestamp" else _refused(line, column, kind)
    try:
        return _PLAIN[kind](text.replace("_", "")) if kind != "str" else text
    except ValueError:
        return text  # a number of a kind that JSON does not have


def _refused(line: int, column: int, kind: str) -> Any:  # noqa: ANN401
    raise _unreadable(line, column, f"the tag {kind!r} is not used here")
