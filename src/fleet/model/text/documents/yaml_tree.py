"""Parse YAML into a tree. YAML tags never create Python objects."""

from __future__ import annotations

from typing import Any

import yaml

from fleet.model.text.documents.nodes import DEEPEST, DocumentFault, DocumentNode, UnreadableDocument

_MOST_NODES = 200_000
_TOO_DEEP = f"it is nested more than {DEEPEST} levels deep"
_PLAIN = {"str": str, "int": int, "float": float}
_WORDS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


def parse(text: str) -> DocumentNode:
    """Return the tree of a YAML text.

    Raise UnreadableDocument when the text is not YAML, empty, too large or nested too deep, or has a tag, a key or an
    alias that is not accepted.
    """
    try:
        composed = yaml.compose(text, Loader=_YamlLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        problem = " ".join(part for part in (error.context, error.problem) if part)
        raise _unreadable(*place, f"this is no YAML: {problem}") from None
    except yaml.YAMLError as error:
        raise _unreadable(1, 1, f"this is no YAML: {' '.join(str(error).split())}") from None
    if composed is None:
        raise _unreadable(1, 1, "the file is empty")
    return _Builder().node(composed, ())


def _unreadable(line: int, column: int, why: str) -> UnreadableDocument:
    """Return the error for a document that cannot be read, with the position of the fault."""
    return UnreadableDocument(
        DocumentFault(line=line, column=column, why=why, advice="`fleet job validate --help` shows an example")
    )


class _YamlLoader(yaml.SafeLoader):
    """A YAML loader that refuses a text nested too deep, before Python's recursion limit is reached."""

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self._depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:  # noqa: ANN401 - as in PyYAML
        """Return the next node with all nodes inside it; raise UnreadableDocument when they are nested too deep."""
        if self._depth > DEEPEST:
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise _unreadable(mark.line + 1, mark.column + 1, _TOO_DEEP)
        self._depth += 1
        try:
            return super().compose_node(parent, index)
        finally:
            self._depth -= 1


class _Builder:
    """Build the tree of nodes; refuse aliases that would make the tree endless or too large."""

    def __init__(self) -> None:
        self._count = 0

    def node(self, given: yaml.Node, above: tuple[int, ...]) -> DocumentNode:
        """Return the tree of a YAML node. `above` has the ids of the nodes around it, to detect endless aliases.

        Raise UnreadableDocument when the tree would be endless, too large or too deep.
        """
        line, column = given.start_mark.line + 1, given.start_mark.column + 1
        self._count += 1
        if id(given) in above or self._count > _MOST_NODES:
            raise _unreadable(line, column, "an alias repeats too much")
        if len(above) > DEEPEST:  # aliases within aliases nest without brackets
            raise _unreadable(line, column, _TOO_DEEP)
        inside = (*above, id(given))
        if isinstance(given, yaml.MappingNode):
            return self._mapping(given, line, column, inside)
        if isinstance(given, yaml.SequenceNode):
            return DocumentNode([self.node(each, inside) for each in given.value], line, column)
        return DocumentNode(_scalar(given, line, column), line, column)

    def _mapping(self, given: yaml.MappingNode, line: int, column: int, inside: tuple[int, ...]) -> DocumentNode:
        """Return the node of a mapping; raise UnreadableDocument for keys that are not text or occur twice."""
        value: dict[str, DocumentNode] = {}
        keys: dict[str, tuple[int, int]] = {}
        for key, below in given.value:
            place = key.start_mark.line + 1, key.start_mark.column + 1
            if not isinstance(key, yaml.ScalarNode):
                raise _unreadable(*place, "a key should be a text")
            if key.value in value:
                raise _unreadable(*place, f"the key {key.value!r} is there twice")
            value[key.value] = self.node(below, inside)
            keys[key.value] = place
        return DocumentNode(value, line, column, keys)


def _scalar(given: yaml.Node, line: int, column: int) -> Any:  # noqa: ANN401 - whatever YAML can say
    """Return a YAML scalar as Python data; raise UnreadableDocument for a tag that has no type in JSON, or does not fit.

    A time, and a number in a form that Python does not read, is returned as text.
    """
    kind = given.tag.removeprefix("tag:yaml.org,2002:")
    text = str(given.value)
    if kind == "null":
        return None
    if kind == "bool":
        if text.lower() not in _WORDS:
            raise _unreadable(line, column, f"{text!r} is neither true nor false")
        return _WORDS[text.lower()]
    if kind not in _PLAIN:
        return text if kind == "timestamp" else _refuse_tag(line, column, kind)
    try:
        return _PLAIN[kind](text.replace("_", "")) if kind != "str" else text
    except ValueError:
        return text  # a number that JSON does not have, such as 0b1


def _refuse_tag(line: int, column: int, kind: str) -> Any:  # noqa: ANN401
    """Raise UnreadableDocument for a YAML tag that has no type in JSON."""
    raise _unreadable(line, column, f"the tag {kind!r} is not used here")
