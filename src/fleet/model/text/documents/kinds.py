"""The kinds of values in a document: each checks a value and describes itself as JSON Schema.

This module imports no regular expressions: commands that have to start quickly read the settings.
"""

from __future__ import annotations

from fleet import errors
from fleet.model import names
from fleet.model.text.times import duration

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from fleet.model.text.documents.nodes import DocumentFault, DocumentNode

_LONGEST_SHOWN = 80


class ValueKind:
    """A kind of value: what it expects in words, the check, and its JSON Schema."""

    __slots__ = ("accepts", "expects", "schema")

    def __init__(
        self,
        expects: str,
        accepts: Callable[[Any], bool] = lambda _value: True,
        schema: dict[str, Any] | None = None,
    ) -> None:
        self.expects = expects
        self.accepts = accepts
        self.schema = schema or {}

    def faults(self, node: DocumentNode, name: str, advice: str = "") -> Iterator[DocumentFault]:
        """Yield a fault if the value is not of this kind. `name` is the value's key; `advice` explains the key."""
        if not self.accepts(node.plain):
            yield self.fault(node, name, advice)

    def remarks(self, _node: DocumentNode, _name: str) -> Iterator[DocumentFault]:
        """Yield the faults inside a value of this kind that leave the rest of the document usable."""
        return iter(())

    def fault(self, node: DocumentNode, name: str, advice: str) -> DocumentFault:
        """Return, without raising it, the fault that the value `node` of the key `name` is not of this kind.

        `advice` says what to write instead; "" gives the usual advice.
        """
        return node.fault(
            f"{name} is {_value_in_message(node)}, but should be {self.expects}", advice or f"write {self.expects}"
        )


class SecretKind(ValueKind):
    """A kind whose values never appear in messages."""

    __slots__ = ()

    def fault(self, node: DocumentNode, name: str, advice: str) -> DocumentFault:
        """Return the fault of a value that is not of this kind, without the value."""
        return node.fault(f"{name} should be {self.expects}", advice or f"write {self.expects}")


class Key:
    """One key of a table: the kind of its value, its meaning, whether it is required, and its default (None: none)."""

    __slots__ = ("default", "help", "kind", "required")

    def __init__(
        self,
        kind: ValueKind,
        help: str = "",  # noqa: A002
        *,
        required: bool = False,
        default: Any = None,  # noqa: ANN401
    ) -> None:
        self.kind = kind
        self.help = help
        self.required = required
        self.default = default


def _value_in_message(node: DocumentNode) -> str:
    """Return a value as an error message shows it, without the password in a database address."""
    if node.value is None:
        return "nothing"
    if isinstance(node.value, str) and "://" in node.value:
        from fleet.model.text import secrets  # noqa: PLC0415 - needs regular expressions

        return repr(secrets.address(node.value))
    text = repr(node.plain)
    if len(text) <= _LONGEST_SHOWN or not isinstance(node.value, dict | list):
        return text
    return "a table" if isinstance(node.value, dict) else "a list"


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_nonblank(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def is_number(value: object) -> bool:
    """Return whether a value is a number; True and False are not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_engine(value: object) -> bool:
    """Return whether a value is a well-formed engine name; the engine need not exist."""
    try:
        return isinstance(value, str) and bool(names.engine(value))
    except errors.BadName:
        return False


def _is_engines(value: object) -> bool:
    """Return whether a value is an engine's name, or a list of distinct ones."""
    if not isinstance(value, list):
        return _is_engine(value)
    return bool(value) and all(map(_is_engine, value)) and len(set(value)) == len(value)


ANYTHING = ValueKind("anything")
FLAG = ValueKind("true or false", lambda value: isinstance(value, bool), {"type": "boolean"})
TEXT = ValueKind("a text", _is_text, {"type": "string"})
NONBLANK = ValueKind("a text that is not blank", _is_nonblank, {"type": "string", "pattern": r"\S"})
WORDS = ValueKind("a list of words", lambda value: isinstance(value, list) and all(map(_is_text, value)))
SOME_WORDS = ValueKind("a list of words, at least one", lambda value: WORDS.accepts(value) and bool(value))
ENGINE = ValueKind(
    "an engine's name (`fleet engine list` shows them)",
    _is_engine,
    {"type": "string", "pattern": "^[a-z0-9][a-z0-9._-]{0,39}$"},
)
ENGINES = ValueKind(
    'an engine\'s name, or a list like ["claude", "codex"] (`fleet engine list` shows them)',
    _is_engines,
    {"type": ["string", "array"], "items": {"type": "string"}},
)


def count(least: int, most: int) -> ValueKind:
    """Return the kind of value that is a whole number from `least` to `most`."""
    return ValueKind(
        f"a whole number from {least} to {most}",
        lambda value: is_number(value) and isinstance(value, int) and least <= value <= most,
        {"type": "integer", "minimum": least, "maximum": most},
    )


def choice(*words: str) -> ValueKind:
    """Return the kind of a value that has to be one of these words."""
    quoted = [repr(word) for word in words]
    return ValueKind(
        f"{', '.join(quoted[:-1])} or {quoted[-1]}",
        lambda value: isinstance(value, str) and value in words,
        {"enum": list(words)},
    )


def choices(*words: str) -> ValueKind:
    """Return a kind that accepts a list of distinct words from `words`."""
    return ValueKind(
        f"a list of {', '.join(map(repr, words))}",
        lambda value: (
            isinstance(value, list) and all(each in words for each in value) and len(set(value)) == len(value)
        ),
        {"type": "array", "items": {"enum": list(words)}},
    )


def duration_like(example: str, *, least: int = 1) -> ValueKind:
    """Return the kind of a duration of at least `least` milliseconds; messages show `example`."""

    def accepts(value: object) -> bool:
        try:
            return isinstance(value, str) and duration(value) >= least
        except errors.BadTime:
            return False

    return ValueKind(f"a duration like {example}", accepts, {"type": "string", "pattern": r"^\s*[0-9]{1,6}[smhdw]\s*$"})


AUTONOMY = choice(*names.AUTONOMIES)
