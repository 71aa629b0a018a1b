"""Value: the base class of what queries and `Fleet` return. A class lists its fields, and its JSON has a key for each.

    class Logged(Value):
        project: str
        task: str  # its slug
        logged: Said[str] = None  # the message

docs/reference/json.md prints the comment behind each field.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar, Optional, Self, TypeVar, dataclass_transform

    T = TypeVar("T")
    # A field that JSON leaves out when it is None; any other None becomes null.
    Said = Optional[T]  # noqa: UP045 - an alias with a parameter
    # A time in JSON: 2026-11-15T18:00:00.000Z.
    Time = str

    @dataclass_transform(kw_only_default=True)
    class _Fields(type): ...

else:

    class _Fields(type):
        """Make the fields of a class from its annotations, like `dataclasses`, whose import would be slow."""

        def __new__(cls, name: str, bases: tuple[type, ...], space: dict[str, Any]) -> type:
            base = bases[0] if bases else None
            every = space.get("__annotations__", {})
            if every or base is None:  # the class of a row has no annotations, and inherits the empty tables below
                own = {field: kind for field, kind in every.items() if not kind.startswith("ClassVar[")}
                defaults = {field: space.pop(field) for field in own if field in space}
                space.setdefault("__slots__", tuple(own))
                kinds = {**getattr(base, "_kinds", {}), **own}
                said = frozenset(field for field, kind in kinds.items() if kind.startswith("Said["))
                space.update(_kinds=kinds, _said=said, _defaults={**getattr(base, "_defaults", {}), **defaults})
            # Added before the class is made: to set an attribute of a class later costs as much as to make the class.
            space.update(_names=(*getattr(base, "_names", ()), *space.setdefault("__slots__", ())))
            return super().__new__(cls, name, bases, space)


class Value(metaclass=_Fields):
    """A value with named fields, made with keywords. Two values are equal when they have the same class and fields."""

    __hash__ = None  # type: ignore[assignment]
    _names: ClassVar[tuple[str, ...]]
    _kinds: ClassVar[dict[str, str]]
    _said: ClassVar[frozenset[str]]

    if not TYPE_CHECKING:

        def __init__(self, **given: object) -> None:
            if len(given) != len(self._names):
                given = {**self._defaults, **given}
            if len(given) != len(self._names):
                raise TypeError(f"{type(self).__name__} lacks {set(self._names) - set(given)}")
            for name, value in given.items():
                setattr(self, name, value)

    def as_json(self) -> dict[str, object]:
        """Return the fields by name, without fields of type `Said` that are None."""
        fields: dict[str, object] = {}
        for name in self._names:
            value = getattr(self, name)
            if value is not None or name not in self._said:
                fields[name.removesuffix("_")] = value
        return fields

    @classmethod
    def from_json(cls, given: Any) -> Self:  # noqa: ANN401 - what `as_json` made
        """Return the value that `as_json` turned into `given`. A field that is missing there becomes None."""
        return cls(**{name: cls._from_json(name, given.get(name.removesuffix("_"))) for name in cls._names})

    @classmethod
    def made_of(cls, value: Value, **more: object) -> Self:
        """Return a value of this class from the fields that another value shares with it, and from the fields in `more`."""
        same = {name: getattr(value, name) for name in value._names if name in cls._names}
        return cls(**{**same, **more})

    def replaced(self, **changes: object) -> Self:
        """Return a copy of this value with some fields changed."""
        return type(self)(**{**{name: getattr(self, name) for name in self._names}, **changes})

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.as_json() == other.as_json()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self._names)})"

    @classmethod
    def _from_json(cls, name: str, given: Any) -> Any:  # noqa: ANN401
        """Return the value of a field from its JSON; a Value in the field, alone or in a list, is rebuilt from its own JSON."""
        kind = cls._kinds.get(name, "").removeprefix("Said[").removeprefix("list[").split("]")[0].split(" |")[0]
        inner = getattr(sys.modules[cls.__module__], kind, None)
        if not isinstance(inner, type) or not issubclass(inner, Value) or given is None:
            return given
        return [inner.from_json(each) for each in given] if isinstance(given, list) else inner.from_json(given)


class OfTask(Value):
    """The first fields of every result that is about one task."""

    project: str
    task: str  # the task's slug
