"""Fill in placeholders like `{item.path}`: in prompts as text, in shell commands as variables.

A value never becomes part of a shell command, so the shell does not parse it. The variable is quoted for its place in
the command: a file named `$(rm -rf ~)` is only a name, inside quotes and outside. A placeholder that is where no value
can be quoted is refused. Braces that are no placeholder stay as they are; `{{item.path}}` becomes `{item.path}` itself.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from fleet.model.jobs.quoting import Quoting
from fleet.model.names import is_number

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
    """A placeholder has no value, or a value that a command cannot take, or is where no value can be quoted."""

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

    Raise Missing when a placeholder has no value, one that no command can take, or a place where no value can be quoted.
    """
    variables: dict[str, str] = {}
    names: dict[str, str] = {}
    quoting = Quoting()
    pieces, rest = _split(text)
    filled = []
    for piece, name in pieces:
        quoting.read(piece)
        if why := quoting.why_not():
            raise Missing(name, why)
        variable = names.setdefault(name, f"FLEET_VALUE_{len(names) + 1}")
        variables[variable] = _check_value(name, text_of(value_of(name, values)))
        filled += [piece, quoting.quote(variable)]
    return "".join([*filled, rest]), variables


def unquotable(text: str) -> Iterator[tuple[str, str]]:
    """Yield (name, why) for each placeholder of a shell command that is where no value can be quoted."""
    quoting = Quoting()
    for piece, name in _split(text)[0]:
        quoting.read(piece)
        if why := quoting.why_not():
            yield name, why
        quoting.quote(name)


def _split(text: str) -> tuple[list[tuple[str, str]], str]:
    """Return each placeholder's name in a text, with the text before it, and the text after the last one.

    A doubled placeholder such as `{{item.path}}` is in the texts already as what it stands for.
    """
    pieces, piece, at = [], "", 0
    for place in _PLACE.finditer(text):
        piece += text[at : place.start()] + (place[1] or "")
        at = place.end()
        if place[2]:
            pieces.append((piece, place[2]))
            piece = ""
    return pieces, piece + text[at:]


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
        elif isinstance(value, list) and is_number(part, _DIGITS) and int(part) < len(value):
            value = value[int(part)]
        else:
            raise Missing(name, f"{root} has no {part!r}")
    return value


def text_of(value: object) -> str:
    """Return the value of a placeholder as text: a string as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
