"""Convert arguments, results and errors of methods to JSON for the daemon's socket, and back."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from functools import cache
from importlib import import_module
from inspect import signature
from typing import TYPE_CHECKING, Any

from fleet import errors
from fleet.api.remote.acts import ARGUMENTS, FURTHER
from fleet.api.remote.json_types import json_type
from fleet.model.results.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from fleet.api.remote.json_types import JsonType

    # An object of the protocol: open, because each method has its own fields.
    Json = dict[str, Any]

# The only packages from which a class of a result is loaded.
_RESULTS = ("fleet.model.", "fleet.verbs.", "fleet.store.queries")
_SCALARS = frozenset((str, int, float, bool))


def plain(value: object) -> Any:  # noqa: ANN401 - JSON
    """Return a value as plain JSON: objects as their fields, sets and tuples as lists, bytes as text."""
    if value is None or type(value) in _SCALARS:
        return value
    named = _fields_of(value)
    if named is not None:
        return {
            str(name): each if each is None or type(each) in _SCALARS else plain(each) for name, each in named.items()
        }
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(each) for each in (sorted(value) if isinstance(value, (set, frozenset)) else value)]
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    return value if isinstance(value, (bool, int, float, str)) else str(value)


def _fields_of(value: object) -> Json | None:
    """Return the fields of a Value, dataclass or named tuple, or the entries of a dict, by name; None for any other value."""
    if isinstance(value, Value):
        return value.as_json()
    if isinstance(value, dict):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    named: Json | None = value._asdict() if hasattr(value, "_asdict") else None
    return named


def type_of(value: object) -> str:
    """Return the class of a result as `module:Class`; for a list, that of its first element as `[module:Class]`.

    "" for plain JSON and for an empty list.
    """
    if isinstance(value, list):
        inner = type_of(value[0]) if value else ""
        return f"[{inner}]" if inner else ""
    if isinstance(value, Value) or is_dataclass(value) or hasattr(value, "_asdict"):
        return name_of_class(type(value))
    return ""


def name_of_class(made: type) -> str:
    """Return the name of a class of results, as `module:Class`."""
    return f"{made.__module__}:{made.__qualname__}"


def result_from_json(given: Any, type_name: str) -> Any:  # noqa: ANN401
    """Return a result made from its JSON and the name of its class from `type_of`; for "", the JSON itself.

    "[module:Class]" makes a list of that class. Raise BadRequest for a class that is not one of fleet's results.
    """
    if not type_name:
        return given
    if type_name.startswith("["):
        return [result_from_json(each, type_name[1:-1]) for each in given]
    made: type = _class_of(type_name)
    return made.from_json(given) if issubclass(made, Value) else made(**_fitting(made, given))


def _class_of(type_name: str) -> type:
    """Import and return the class of a result, named `module:Class`.

    Raise BadRequest for a class that is not one of fleet's results.
    """
    module, _, name = type_name.partition(":")
    if not module.startswith(_RESULTS):
        raise errors.BadRequest(why=f"{type_name} is no class of a result")
    found: type = getattr(import_module(module), name)
    return found


class Parameters:
    """The parameters of one method of `Fleet`: the annotation of each, its JSON type, and which are required."""

    def __init__(self, name: str, method: Callable[..., object]) -> None:
        every = signature(method).parameters.values()
        self.kinds = {each.name: str(each.annotation) for each in every if each.kind is not each.VAR_KEYWORD}
        self.needed = {each.name for each in every if each.default is each.empty and each.name in self.kinds}
        self.types = {each: json_type(kind) for each, kind in self.kinds.items()}
        further = FURTHER.get(name)
        if further is not None:
            module, kind_name = further
            fields_of = _annotations(getattr(import_module(module), kind_name))
            more = {
                each: kind for each, kind in fields_of.items() if each not in self.kinds and not each.startswith("_")
            }
            self.kinds.update(more)
            self.types.update({each: json_type(kind, or_null=True) for each, kind in more.items()})

    def check(self, given: Json) -> None:
        """Raise BadRequest when a required argument is missing or an unknown one is given."""
        if not self.needed <= given.keys():
            missing = next(name for name in self.kinds if name in self.needed and name not in given)
            raise errors.BadRequest(why=f"the argument {missing!r} is missing")
        if not given.keys() <= self.kinds.keys():
            unknown = next(name for name in given if name not in self.kinds)
            raise errors.BadRequest(why=f"there is no argument {unknown!r}")


# The parameters of each method, kept: to inspect a signature takes longer than most requests.
_KNOWN: dict[str, Parameters] = {}


def parameters_of(name: str, method: Callable[..., object]) -> Parameters:
    """Return the parameters of a method of `Fleet`; `name` is its full name, such as `tasks.add`."""
    found = _KNOWN.get(name)
    if found is None:
        found = _KNOWN[name] = Parameters(name, method)
    return found


def arguments(method: str, given: Json, takes: Parameters) -> Json:
    """Return the arguments of a method, made from their JSON (`given`) as its parameters (`takes`) say.

    Raise BadRequest when one is of a wrong type.
    """
    made: Json = {}
    for name, value in given.items():
        wanted = takes.types.get(name)
        if wanted is not None:
            wanted.check(name, value)
            made[name] = value if type(value) in _SCALARS else _argument(method, name, value, takes.kinds[name])
        else:
            made[name] = _argument(method, name, value, takes.kinds.get(name, ""))
    return made


def _argument(method: str, name: str, value: Any, kind: str) -> Any:  # noqa: ANN401
    """Return the argument `name` of a method, made from its JSON by its class, else by its annotation `kind`.

    Raise BadRequest when the JSON does not fit the class.
    """
    place = ARGUMENTS.get((method, name))
    if place is None or (value is None and kind.endswith("| None")):
        return _converted(kind, value)
    made: type = getattr(import_module(place[0]), place[1])
    if isinstance(value, list) and kind.startswith("list["):
        return [_object_of(made, name, each) for each in value]
    return _object_of(made, name, value)


def _object_of(made: type, name: str, given: object) -> object:
    """Return an argument of a class from its JSON. Raise BadRequest when it is no object, or has a field of a wrong type."""
    if not isinstance(given, dict):
        raise errors.BadRequest(why=f"the argument {name!r} is not an object")
    for field, wanted in _types_of(made).items():
        if field in given:
            wanted.check(f"{name}.{field}", given.get(field))
    try:
        return made(**_fitting(made, given))
    except (TypeError, AttributeError) as error:
        raise errors.BadRequest(why=f"{name}: {error}") from None


@cache
def _types_of(made: type) -> dict[str, JsonType]:
    """Return the JSON types of the fields of a class, as far as their annotations say them plainly."""
    every = ((name, json_type(kind)) for name, kind in _annotations(made).items())
    return {name: each for name, each in every if each is not None}


def _fitting(made: type, given: Json) -> Json:
    """Return the fields `given` with each list converted to the tuple or frozenset that the class `made` declares for it.

    JSON has only lists.
    """
    kinds = _annotations(made)
    return {name: _converted(kinds.get(name, ""), value) for name, value in given.items()}


def _annotations(made: type) -> dict[str, str]:
    """Return the annotations of all fields of a class and its bases, as text."""
    every: dict[str, str] = {}
    for each in reversed(made.__mro__):
        # A named tuple has its annotations as references.
        own = getattr(each, "__annotations__", {})
        every.update({name: str(getattr(kind, "__forward_arg__", kind)) for name, kind in own.items()})
    return every


def _converted(kind: str, value: Any) -> Any:  # noqa: ANN401
    """Convert a JSON list to what the annotation `kind` asks for: a tuple, a frozenset or bytes.

    Return other values as they are.
    """
    if not isinstance(value, list):
        return value
    if kind == "Iterable[bytes]":
        return [str(each).encode("utf-8", "surrogateescape") for each in value]
    if kind.startswith("tuple"):
        return tuple(value)
    return frozenset(value) if kind.startswith("frozenset") else value


def error_document(error: BaseException) -> Json:
    """Return an error as JSON. `error_from_document` makes the same error from it in the other process."""
    if not isinstance(error, errors.FleetError):
        return {"name": "FleetError", "code": 1, "message": _fault(error), "hint": "", "facts": {"what": _fault(error)}}
    return {
        "name": type(error).__name__,
        "code": error.code,
        "kind": error.kind,
        "message": str(error),
        "hint": error.next_step,
        "way": error.way,
        "facts": plain(error.facts),
    }


def _fault(error: BaseException) -> str:
    """Return the message for an error that is not a FleetError: a bug in the daemon."""
    return f"the daemon failed at this request: {type(error).__name__}: {error}"


def error_from_document(document: Json) -> errors.FleetError:
    """Return the error that a document of `error_document` describes; a plain FleetError when this version lacks its class."""
    try:
        made: type[errors.FleetError] = getattr(errors, str(document["name"]))
        error = made(**document["facts"])
    except (AttributeError, KeyError, TypeError, IndexError):
        error = errors.FleetError(what=str(document.get("message", "the daemon reports an error")))
        error.code = int(document.get("code", 1))
    error.way = str(document.get("way", ""))
    return error


def iterator_as_list(value: object) -> object:
    """Return an iterator as a list, and any other value as it is."""
    if isinstance(value, (str, bytes, dict, list, tuple, Value)) or not hasattr(value, "__iter__"):
        return value
    every: Iterable[object] = value
    return list(every)
