"""Fill in placeholders like `{item.path}`: in prompts as text, in shell commands as variables.

A value never becomes part of a shell command, so the shell does not parse it. The variable is quoted for its place in
the command: a file named `$(rm -rf ~)` is only a name, inside quotes and outside. Braces that are no placeholder stay
as they are; `{{item.path}}` becomes `{item.path}` itself.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    # The values of placeholders by their roots. An item is any JSON value.
    PlaceholderValues = dict[str, Any]

ROOTS = ("item", "setup", "map", "env")
# How many bytes the value of a placeholder in a shell command may have.
LONGEST_VARIABLE = 100_000
_DIGITS = 9
_NAME = rf"(?:{'|'.join(ROOTS)})(?:\.[A-Za-z0-9_-]+)*"
_PLACE = re.compile(rf"\{{(\{{{_NAME}\}})\}}|\{{({_NAME})\}}")


class Missing(Exception):
    """A placeholder has no value, or a value that a command cannot take."""

    def __init__(self, name: str, why: str) -> None:
        self.name = name
        super().__init__(f"{{{name}}}: {why}")


def names_in(text: str) -> list[str]:
    """Return the names of the placeholders in a text, such as `item.path`, in their order, repeated ones too."""
    return [place[2] for place in _PLACE.finditer(text) if place[2]]


def fill(text: str, values: PlaceholderValues) -> str:
    """Return a text with each placeholder replaced by its value. The result is not safe for a shell.

    Raise Missing when a placeholder has no value.
    """
    return _PLACE.sub(lambda place: place[1] or text_of(value_of(place[2], values)), text)


def fill_shell(text: str, values: PlaceholderValues) -> tuple[str, dict[str, str]]:
    """Return a shell command with each placeholder replaced by a quoted variable, and the values of these variables by name.

    Raise Missing when a placeholder has no value, or one that no command can take.
    """
    pieces: list[str] = []
    variables: dict[str, str] = {}
    names: dict[str, str] = {}
    quoting = _Quoting()
    at = 0
    for place in _PLACE.finditer(text):
        pieces.append(text[at : place.start()])
        quoting.read(pieces[-1])
        at = place.end()
        if place[1]:
            pieces.append(place[1])
            continue
        variable = names.setdefault(place[2], f"FLEET_VALUE_{len(names) + 1}")
        variables[variable] = _check_value(place[2], text_of(value_of(place[2], values)))
        pieces.append(quoting.quote(variable))
    return "".join([*pieces, text[at:]]), variables


def _check_value(name: str, value: str) -> str:
    """Return the value of a placeholder; raise Missing when no command can take it: too long, with a NUL, or not valid text."""
    try:
        length = len(value.encode(errors="surrogateescape"))  # as Python passes bytes that are not UTF-8 to a program
    except UnicodeEncodeError:
        raise Missing(name, "it is no text that a command can take") from None
    if length > LONGEST_VARIABLE:
        raise Missing(name, f"it is longer than the {LONGEST_VARIABLE} bytes that a command can take")
    if "\0" in value:
        raise Missing(name, "it has a NUL in it, which no command can take")
    return value


def value_of(name: str, values: PlaceholderValues) -> object:
    """Return the value of a placeholder such as `item.path`; raise Missing when there is no such value."""
    root, *path = name.split(".")
    if root not in values:
        raise Missing(name, f"there is no {root} here")
    value = values[root]
    for part in path:
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and _is_number(part) and int(part) < len(value):
            value = value[int(part)]
        else:
            raise Missing(name, f"{root} has no {part!r}")
    return value


def _is_number(part: str) -> bool:
    """Return whether a part of a placeholder's name is a number that can be an index of a list."""
    return part.isascii() and part.isdigit() and len(part) <= _DIGITS


def text_of(value: object) -> str:
    """Return the value of a placeholder as text: a string as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


class _Quoting:
    """Track which quotes are open in a shell command at the end of what was read of it: none, double or single quotes.

    What follows a `$(` is read as a command of its own, which starts without quotes. Comments, here-documents,
    backticks and subshells are not recognised: a quote or a parenthesis in them counts like any other.
    """

    def __init__(self) -> None:
        self._quotes = [""]

    def read(self, text: str) -> None:
        """Read `text`, the next piece of the command: the piece that follows what was read before."""
        parts = self._parts(text)
        for part in parts:
            self._step(part)

    @staticmethod
    def _parts(text: str) -> Iterator[str]:
        """Split a piece of a command into characters; a backslash and the next character, or `$(`, stay together."""
        return (part[0] for part in re.finditer(r"\\.|\$\(|.", text, re.DOTALL))

    def _step(self, part: str) -> None:
        """Update which quotes are open, for one character, a `$(`, or a backslash with the next character."""
        now = self._quotes[-1]
        if now == "'":
            if part.endswith("'"):  # in single quotes a backslash is a plain character
                self._quotes[-1] = ""
        elif part == '"':
            self._quotes[-1] = "" if now == '"' else '"'
        elif part == "'" and not now:
            self._quotes[-1] = "'"
        elif part == "$(":
            self._quotes.append("")
        elif part == ")" and not now and len(self._quotes) > 1:
            self._quotes.pop()

    def quote(self, variable: str) -> str:
        """Return a reference to the variable, quoted for the place in the command that `read` has reached."""
        match self._quotes[-1]:
            case "'":
                return f"'\"${{{variable}}}\"'"
            case '"':
                return f"${{{variable}}}"
            case _:
                return f'"${{{variable}}}"'
