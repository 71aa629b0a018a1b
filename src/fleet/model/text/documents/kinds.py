"""What a value of a document may be. A kind checks a value, and writes itself down as JSON Schema.

No regular expressions here: settings are read by commands that cannot afford them.
"""

from __future__ import annotations

from fleet import errors
from fleet.model import names
from fleet.model.text.times import duration

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from fleet.model.text.documents.nodes import Fault, Node

AUTONOMIES = ("ask", "edits", "allowlist", "full")
_LONGEST_SHOWN = 80


class Kind:
    """What a value may be: in words, as a check, and for editors."""

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

    def faults(self, node: Node, name: str, advice: str = "") -> Iterator[Fault]:
        """What is wrong with the value of that name. The advice is what the name means."""
        if not self.accepts(node.plain):
            yield self.fault(node, name, advice)

    def fault(self, node: Node, name: str, advice: str) -> Fault:
        """It is something else."""
        return node.fault(f"{name} is {_shown(node)}, but should be {self.expects}", advice or f"write {self.expects}")


class Key:
    """One key of a table: what it may be, what it means, and what it is when nobody says."""

    __slots__ = ("default", "help", "kind", "required")

    def __init__(
        self,
        kind: Kind,
        help: str = "",  # noqa: A002
        *,
        required: bool = False,
        default: Any = None,  # noqa: ANN401
    ) -> None:
        self.kind = kind
        self.help = help
        self.required = required
        self.default = default


def _shown(node: Node) -> str:
    """A value as an error may show it. A database's address may hold a password."""
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


def is_said(value: object) -> bool:
    """Whether it is a text that is not blank."""
    return isinstance(value, str) and bool(value.strip())


def is_number(value: object) -> bool:
    """Whether it is a number; true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_engine(value: object) -> bool:
    try:
        return isinstance(value, str) and bool(names.engine(value))
    except errors.BadName:
        return False


ANYTHING = Kind("anything")
FLAG = Kind("true or false", lambda value: isinstance(value, bool), {"type": "boolean"})
TEXT = Kind("a text", _is_text, {"type": "string"})
SAID = Kind("a text that is not blank", is_said, {"type": "string", "pattern": r"\S"})
WORDS = Kind("a list of words", lambda value: isinstance(value, list) and all(map(_is_text, value)))
SOME_WORDS = Kind("a list of words, at least one", lambda value: WORDS.accepts(value) and bool(value))
ENGINE = Kind(
    "an engine's name (`fleet engine list` shows them)",
    _is_engine,
    {"type": "string", "pattern": "^[a-z0-9][a-z0-9._-]{0,39}$"},
)


def count(least: int, most: int) -> Kind:
    """A whole number."""
    return Kind(
        f"a whole number from {least} to {most}",
        lambda value: is_number(value) and isinstance(value, int) and least <= value <= most,
        {"type": "integer", "minimum": least, "maximum": most},
    )


def choice(*words: str) -> Kind:
    """One of a few words."""
    quoted = [repr(word) for word in words]
    return Kind(
        f"{', '.join(quoted[:-1])} or {quoted[-1]}",
        lambda value: isinstance(value, str) and value in words,
        {"enum": list(words)},
    )


def duration_like(example: str, *, least: int = 1) -> Kind:
    """How long, in milliseconds at least so many."""

    def accepts(value: object) -> bool:
        try:
            return isinstance(value, str) and duration(value) >= least
        except errors.BadTime:
            return False

    return Kind(f"a duration like {example}", accepts, {"type": "string", "pattern": r"^\s*[0-9]{1,6}[smhdw]\s*$"})


AUTONOMY = choice(*AUTONOMIES)
