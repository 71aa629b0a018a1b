"""Check the JSON type of an argument against the annotation of its parameter, where that says it plainly."""

from __future__ import annotations

from types import NoneType
from typing import TYPE_CHECKING

from fleet import errors

if TYPE_CHECKING:
    from collections.abc import Iterable

_SINGLE: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
    "None": (NoneType,),
}
# The words that arguments of these closed sets may be; a test compares them with `fleet.model.states`.
CHOICES = {
    "RemoteControl": ("up", "down"),
    "ReviewVerdict": ("accept", "send back"),
    "QuestionKind": ("permission", "question"),
    "NoticeChannel": ("desktop", "terminal", "command", "urls"),
}
# Annotations of arguments that JSON has as a list, and as an object.
_LISTS = ("list[", "tuple[", "frozenset[", "Sequence[", "Iterable[")
_OBJECTS = ("dict[",)
_WORDS = {str: "a text", int: "a whole number", float: "a number", bool: "true or false", NoneType: "null",
          list: "a list", dict: "an object"}  # fmt: skip


class JsonType:
    """The JSON types that an annotation allows.

    Also the type of a list's elements if they are texts or whole numbers, and the words that a text may be if they are
    a closed set.
    """

    __slots__ = ("_choices", "_elements", "_types")

    def __init__(self, types: Iterable[type], elements: type | None, choices: tuple[str, ...]) -> None:
        self._types = tuple(types)
        self._elements = elements
        self._choices = choices

    def check(self, name: str, value: object) -> None:
        """Raise BadRequest, which names the argument, when a JSON value is not of a type that is allowed."""
        if type(value) not in self._types:
            wanted = " or ".join(_WORDS[each] for each in self._types if each is not int or float not in self._types)
            raise errors.BadRequest(why=f"the argument {name!r} is {_WORDS[type(value)]}, not {wanted}")
        if self._choices and value is not None and value not in self._choices:
            raise errors.BadRequest(why=f"the argument {name!r} is {value!r}, not one of {', '.join(self._choices)}")
        if self._elements is not None and isinstance(value, list):
            for each in value:
                if type(each) is not self._elements:
                    wanted = _WORDS[self._elements]
                    raise errors.BadRequest(why=f"the argument {name!r} has an element that is not {wanted}")


def json_type(annotation: str, *, or_null: bool = False) -> JsonType | None:
    """Return the JSON types that an annotation allows, with `or_null` also null; None when it is too complex."""
    types: list[type] = []
    elements: type | None = None
    choices: tuple[str, ...] = ()
    for part in [*annotation.split(" | "), *(["None"] if or_null else [])]:
        if part in _SINGLE:
            types += _SINGLE[part]
        elif part in CHOICES:
            types.append(str)
            choices = CHOICES[part]
        elif part.startswith(_LISTS) and part.endswith("]"):
            types.append(list)
            inner = _SINGLE.get(part.partition("[")[2].removesuffix("]").removesuffix(", ..."))
            elements = inner[0] if inner in ((str,), (int,)) else None
        elif part.startswith(_OBJECTS) and part.endswith("]"):
            types.append(dict)
        else:
            return None
    return JsonType(dict.fromkeys(types), elements, choices)
