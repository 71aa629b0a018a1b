"""Filling in: `{item.path}` and its like, in prompts as text, in shell commands as variables that no shell parses.

A value never becomes part of a command: its place is taken by a variable, quoted as its surroundings demand. So a file named
`$(rm -rf ~)` is a file of that name, in quotes and out of them. Braces that are no placeholder are left alone; `{{item.path}}`
stands for `{item.path}` itself.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    # What placeholders stand for, by their roots: an item is whatever JSON it is.
    Values = dict[str, Any]

ROOTS = ("item", "setup", "map", "env")
LONGEST_VARIABLE = 100_000
_NAME = rf"(?:{'|'.join(ROOTS)})(?:\.[A-Za-z0-9_-]+)*"
_PLACE = re.compile(rf"\{{(\{{{_NAME}\}})\}}|\{{({_NAME})\}}")


class Missing(Exception):
    """A placeholder that nothing stands for."""

    def __init__(self, name: str, why: str) -> None:
        self.name = name
        super().__init__(f"{{{name}}}: {why}")


def named(text: str) -> list[str]:
    """The placeholders of a text."""
    return [place[2] for place in _PLACE.finditer(text) if place[2]]


def fill(text: str, values: Values) -> str:
    """The text with its values in it. Not for a shell."""
    return _PLACE.sub(lambda place: place[1] or text_of(value_of(place[2], values)), text)


def fill_shell(text: str, values: Values) -> tuple[str, dict[str, str]]:
    """A command in which variables stand for the values, and those variables."""
    made: list[str] = []
    variables: dict[str, str] = {}
    names: dict[str, str] = {}
    quoting = _Quoting()
    at = 0
    for place in _PLACE.finditer(text):
        made.append(text[at : place.start()])
        quoting.read(made[-1])
        at = place.end()
        if place[1]:
            made.append(place[1])
            continue
        variable = names.setdefault(place[2], f"FLEET_VALUE_{len(names) + 1}")
        variables[variable] = _short(place[2], text_of(value_of(place[2], values)))
        made.append(quoting.around(variable))
    return "".join([*made, text[at:]]), variables


def _short(name: str, value: str) -> str:
    try:
        length = len(value.encode(errors="surrogateescape"))  # as the system passes on what is not UTF-8
    except UnicodeEncodeError:
        raise Missing(name, "it is no text that a command can be given") from None
    if length > LONGEST_VARIABLE:
        raise Missing(name, f"it is longer than the {LONGEST_VARIABLE} bytes that a command can be given")
    if "\0" in value:
        raise Missing(name, "it has a NUL in it, which no command can be given")
    return value


def value_of(name: str, values: Values) -> object:
    """What a placeholder stands for, or Missing."""
    root, *path = name.split(".")
    if root not in values:
        raise Missing(name, f"there is no {root} here")
    value = values[root]
    for part in path:
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        else:
            raise Missing(name, f"{root} has no {part!r}")
    return value


def text_of(value: object) -> str:
    """A value as a text: a text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


class _Quoting:
    """Where in the quotes of a command we are: in none, in double or in single ones; a command inside begins anew."""

    def __init__(self) -> None:
        self._inside = [""]

    def read(self, text: str) -> None:
        """Go on over a part of the command."""
        parts = self._parts(text)
        for part in parts:
            self._step(part)

    @staticmethod
    def _parts(text: str) -> Iterator[str]:
        return (part[0] for part in re.finditer(r"\\.|\$\(|.", text, re.DOTALL))

    def _step(self, part: str) -> None:
        now = self._inside[-1]
        if now == "'":
            if part.endswith("'"):  # a backslash means nothing here
                self._inside[-1] = ""
        elif part == '"':
            self._inside[-1] = "" if now == '"' else '"'
        elif part == "'" and not now:
            self._inside[-1] = "'"
        elif part == "$(":
            self._inside.append("")
        elif part == ")" and not now and len(self._inside) > 1:
            self._inside.pop()

    def around(self, variable: str) -> str:
        """The variable, quoted for where we are."""
        match self._inside[-1]:
            case "'":
                return f"'\"${{{variable}}}\"'"
            case '"':
                return f"${{{variable}}}"
            case _:
                return f'"${{{variable}}}"'
