"""The decorator `record` for immutable classes, like `@dataclass(frozen=True, slots=True, kw_only=True)`.

`dataclasses` is slow: importing it takes longer than everything else that `fleet ps` imports, and it compiles source
text for each class. `dataclasses.replace` and `dataclasses.fields` work with a record too.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import dataclass as record
    from dataclasses import field, replace
    from typing import ClassVar, NoReturn
else:

    def replace(value: _Record, **changes: object) -> _Record:
        """Return a copy of a record with other values in some fields. Raise TypeError for a name that is no field."""
        return type(value)(**{name: getattr(value, name) for name in value._names} | changes)  # noqa: SLF001 - its own class

    def record(*, frozen: bool, slots: bool, kw_only: bool) -> Callable[[type], type]:
        """Return the decorator that makes a class a record. All arguments must be True; they are for type checkers."""
        assert (frozen, slots, kw_only) == (True, True, True)  # noqa: S101
        return _made

    def field(
        *,
        default_factory: Callable[[], object] | None = None,
        compare: bool = True,
        repr: bool = True,  # noqa: A002 - as dataclasses call it
    ) -> _Field:
        """Describe a field: how its default is made, whether comparisons count it, whether the repr shows it.

        Without `default_factory` the field has no default.
        """
        return _Field(default_factory, compare=compare, shown=repr)


__all__ = ("field", "record", "replace")


class _Field:
    """What `field` was called with: the default's factory, whether comparisons count it, whether the repr shows it."""

    __slots__ = ("compare", "factory", "shown")

    def __init__(self, factory: Callable[[], object] | None, *, compare: bool, shown: bool) -> None:
        self.factory = factory
        self.compare = compare
        self.shown = shown


class _Described:
    """The attribute `__dataclass_fields__` of a record, by which `dataclasses` recognises its classes.

    Its value is made anew each time it is read; only then is `dataclasses` imported.
    """

    def __init__(self, defaults: dict[str, object], factories: dict[str, Callable[[], object]]) -> None:
        self._defaults = defaults
        self._factories = factories

    def __get__(self, _instance: object, owner: type) -> dict[str, object]:
        """Return the fields of the record as `dataclasses` describes them. Imports `dataclasses`."""
        from dataclasses import MISSING, fields, make_dataclass
        from dataclasses import field as described

        every = [
            (name, kind, described(default_factory=self._factories[name]))
            if name in self._factories
            else (name, kind, described(default=self._defaults.get(name, MISSING)))
            for name, kind in owner.__annotations__.items()
        ]
        return {each.name: each for each in fields(make_dataclass(owner.__name__, every, kw_only=True))}


class _Record:
    """The base class of every record: construction, comparison, hash, repr, and refusal of changes."""

    __slots__ = ()
    # `_made` sets these for each record class: the names of its fields, in order and as a set; the names that
    # comparisons and the repr use; the default values and the factories of defaults, by name.
    _names: ClassVar[tuple[str, ...]] = ()
    _all: ClassVar[frozenset[str]] = frozenset()
    _compared: ClassVar[tuple[str, ...]] = ()
    _shown: ClassVar[tuple[str, ...]] = ()
    _defaults: ClassVar[dict[str, object]] = {}
    _factories: ClassVar[dict[str, Callable[[], object]]] = {}

    def __init__(self, **given: object) -> None:
        values = {**self._defaults, **given}
        for name, make in self._factories.items():
            if name not in given:
                values[name] = make()
        if values.keys() != self._all:
            raise TypeError(f"{type(self).__name__}: missing or unknown: {sorted(values.keys() ^ self._all)}")
        self.__setstate__(list(map(values.__getitem__, self._names)))

    def __getstate__(self) -> list[object]:
        return [getattr(self, name) for name in self._names]

    def __setstate__(self, state: list[object]) -> None:
        for name, value in zip(self._names, state, strict=True):
            object.__setattr__(self, name, value)

    def _key(self) -> tuple[object, ...]:
        """Return the values of the fields that count in comparisons."""
        return tuple(getattr(self, name) for name in self._compared)

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, type(self)) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self._shown)})"

    def __setattr__(self, name: str, _value: object) -> NoReturn:
        raise AttributeError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"cannot delete field {name!r}")


def _made(cls: type) -> type:
    """Return a copy of the class as a record: with slots for its annotated fields, and _Record as its only base.

    The bases of the class itself, and their fields, are lost.
    """
    space = {name: value for name, value in vars(cls).items() if name not in ("__dict__", "__weakref__")}
    names = tuple(cls.__annotations__)
    given = {name: space.pop(name) for name in names if name in space}
    told = {name: given.pop(name) for name in names if isinstance(given.get(name), _Field)}
    factories = {name: each.factory for name, each in told.items() if each.factory is not None}
    space.update(
        __slots__=names,
        __dataclass_fields__=_Described(given, factories),
        _names=names,
        _all=frozenset(names),
        _compared=tuple(name for name in names if name not in told or told[name].compare),
        _shown=tuple(name for name in names if name not in told or told[name].shown),
        _factories=factories,
        _defaults=given,
    )
    return type(cls.__name__, (_Record,), space)
