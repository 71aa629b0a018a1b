"""Fail when an object of a lower layer holds a callable of a higher layer. import-linter sees only imports.

There are two checks. In the source, no class of `api` or below stores a callable that it was given, except those in GIVEN. At run
time, no object that can be reached from a Fleet, in a command or in the daemon, nor its class, holds a function or method of a layer
above its own, however wrapped.

An object of a higher layer may be handed down behind an interface: a class of the holder's layer or of one below, from which the
object's class inherits. So the daemon gives verbs its PooledStore as a Store, and `Actor.open` its Household as a FleetOpener.
"""

from __future__ import annotations

import ast
import functools
import os
import sys
import tempfile
import types
from collections import deque
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from fleet.api.fleet import PARTS, Fleet
from fleet.fast import made_once
from fleet.surfaces.daemon.household import Household
from fleet.world.funnel import Funnel

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    # A name, the rank of the layer that holds the value, and the value.
    Held = tuple[str, int, object]

SOURCE = Path(__file__).parent.parent / "src" / "fleet"
# Each layer with its rank: a layer may know those of a lower rank.
RANKS = {
    name: rank
    for rank, layer in enumerate(
        ("errors", "model", "world", "store engines resources", "verbs", "api", "testing", "demo", "surfaces")
    )
    for name in layer.split()
}
# Callables that a class of `api` or below may be given and keep, and why.
GIVEN = {
    "api.loop.Loop._say": "where fleet's own coordinator prints; ends with the loop",
    "api.remote.following.PushedOperations._wanted": "whether the follower is still wanted; ends with it",
    "api.remote.following.Silence._newest": "of its own layer",
    "api.watch.Watch._say": "where the watch of a session prints; ends with the watch",
    "model.text.documents.kinds.ValueKind.accepts": "of its own layer",
    "resources.kind.Order.meanwhile": "what to do while git writes a worktree; ends with the order",
    "store.transaction.Change.work": "the work of a transaction; ends with it",
    "verbs.jobs.items.inputs.InputCommandContext.check_wanted": "of its own layer",
    "verbs.jobs.progress.ProgressReporter._tell": "where a job's progress goes; ends with the run",
    "verbs.jobs.run.Runner._wanted": "whether the run is still wanted; ends with it",
    "world.git.git.Git._sees_everyone": "of its own layer",
    "world.git.worktrees.ignored.IrreproducibleFiles._is_reproducible": "of its own layer",
    "world.git.nested.populate._Level.ask": "of its own layer",
    "world.process.programs.Programs._namespace_lock": "of its own layer",
}
# Methods that put a value into a container.
_ADDING = frozenset(("append", "appendleft", "add", "insert", "put", "setdefault"))


# in the source --------------------------------------------------------------------------------------------------------
def stored_callables(source: Path) -> set[str]:
    """Return every attribute in `api` or below that keeps a callable given to a class or function, as module.Class.attribute."""
    trees = {
        path.relative_to(source).with_suffix("").as_posix().replace("/", "."): ast.parse(path.read_text("utf-8"))
        for layer, rank in RANKS.items()
        if rank <= RANKS["api"]
        for path in (source / layer).rglob("*.py")
    }
    names = {"Callable"} | {name for tree in trees.values() for name in _aliases(tree)}
    return {
        f"{module}.{each.name}.{attribute}"
        for module, tree in trees.items()
        for each in _classes_and_functions(tree)
        for attribute in _attributes_with_callables(each, names)
    }


def _classes_and_functions(tree: ast.Module) -> Iterator[ast.ClassDef | ast.FunctionDef]:
    """Yield the classes and functions of a module, without methods."""
    yield from (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    yield from _functions(tree)


def _functions(tree: ast.AST) -> Iterator[ast.FunctionDef]:
    """Yield the functions of a module or class, without those of its classes."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef):
            yield node
        elif not isinstance(node, ast.ClassDef):
            yield from _functions(node)


def _aliases(tree: ast.Module) -> Iterator[str]:
    """Yield the names that stand for a type of callable: aliases, and classes whose objects are called."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and any(each.name == "__call__" for each in _functions(node)):
            yield node.name
        elif isinstance(node, ast.Assign) and "Callable[" in ast.unparse(node.value):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))


def _attributes_with_callables(made: ast.ClassDef | ast.FunctionDef, names: set[str]) -> Iterator[str]:
    """Yield the attributes that keep a callable: annotated as callables, or assigned a parameter that is one."""
    if isinstance(made, ast.ClassDef):
        fields = (node for node in made.body if isinstance(node, ast.AnnAssign) and _mentions(node, names))
        yield from (field.target.id for field in fields if isinstance(field.target, ast.Name))
        for function in _functions(made):
            yield from _attributes_with_callables(function, names)
        return
    for node in ast.walk(made):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Attribute) and _mentions(node, names):
            yield node.target.attr
    yield from _stored_parameters(made, names)


def _stored_parameters(function: ast.FunctionDef, names: set[str]) -> Iterator[str]:
    """Yield the attributes in which a function stores a given callable, also one that it has wrapped or renamed."""
    given = {arg.arg for arg in ast.walk(function.args) if isinstance(arg, ast.arg) and _mentions(arg, names)}
    for node in ast.walk(function):  # outer statements come first
        match node:
            case ast.FunctionDef(name=name) if node is not function and _mentions_name(node, given):
                given.add(name)
            case ast.Assign(targets=targets, value=value) if _carries(value, given):
                given |= {target.id for target in targets if isinstance(target, ast.Name)}
                yield from (attribute for target in targets if (attribute := _attribute_of(target)))
            case ast.AnnAssign(target=target, value=ast.expr() as value) if _carries(value, given):
                yield from filter(None, [_attribute_of(target)])
            case ast.Call(func=ast.Attribute(attr=method, value=ast.Attribute(attr=attribute)), args=values):
                if method in _ADDING and any(_carries(value, given) for value in values):
                    yield attribute
            case _:
                pass


def _attribute_of(target: ast.expr) -> str | None:
    """Return the attribute that an assignment changes: itself, or an item in it; None for a local variable."""
    match target:
        case ast.Attribute(attr=attribute) | ast.Subscript(value=ast.Attribute(attr=attribute)):
            return attribute
        case _:
            return None


def _carries(value: ast.expr, given: set[str]) -> bool:
    """Return whether a value keeps one of the given callables: itself, in a container, in a lambda, or wrapped by a function.

    The result of calling it does not, and an object to which it is handed is looked at where its class stores it.
    """
    match value:
        case ast.Name(name):
            return name in given
        case ast.Lambda(body=body):
            return _mentions_name(body, given)
        case ast.Call(func=ast.Name(name)) if name in given or name[0].isupper():
            return False
        case ast.Attribute():
            return False
        case _:
            inner = [each.value if isinstance(each, ast.keyword) else each for each in ast.iter_child_nodes(value)]
            return any(_carries(each, given) for each in inner if isinstance(each, ast.expr))


def _mentions(node: ast.AnnAssign | ast.arg, names: set[str]) -> bool:
    """Return whether the annotation of an attribute or parameter contains one of the names."""
    return node.annotation is not None and _mentions_name(node.annotation, names)


def _mentions_name(node: ast.AST, names: set[str]) -> bool:
    """Return whether a part of the source contains one of the names."""
    return any(isinstance(each, ast.Name) and each.id in names for each in ast.walk(node))


# at run time ----------------------------------------------------------------------------------------------------------
def upcalls(*roots: object) -> list[str]:
    """Return a line for each callable or object of a layer above its holder's that can be reached from the roots.

    What is held behind an interface, as the docstring of this module says, is allowed.
    """
    faults: list[str] = []
    seen: dict[tuple[int, int], object] = {}  # with the objects, so that none is freed and its id used again
    waiting: list[Held] = [(type(root).__name__, _rank(type(root)), root) for root in roots]
    while waiting:
        name, rank, each = waiting.pop()
        if (id(each), rank) in seen:
            continue
        seen[id(each), rank] = each
        above = _above(each, rank)
        if above is None:
            waiting += [(f"{name}.{key}", inner, value) for key, inner, value in _values_held(each, rank)]
        else:
            faults.append(f"{name} is {above.__module__}.{above.__qualname__}")
    return faults


def _above(each: object, rank: int) -> type | types.FunctionType | None:
    """Return the function or class of a callable or object when it is of a layer above the rank; None when it may be held.

    A method or an object may be held when a class that is not above the rank defines the method or is a base of its class.
    """
    if isinstance(each, types.MethodType) and isinstance(each.__func__, types.FunctionType):
        owner = each.__self__ if isinstance(each.__self__, type) else type(each.__self__)
        return _unless_known(each.__func__, rank, (kind for kind in owner.__mro__ if each.__name__ in vars(kind)))
    if isinstance(each, types.FunctionType):
        return _unless_known(each, rank, ())
    kind = each if isinstance(each, type) else type(each)
    return _unless_known(kind, rank, kind.__mro__)


def _unless_known(
    named: type | types.FunctionType, rank: int, interfaces: Iterable[type]
) -> type | types.FunctionType | None:
    """Return the function or class if it and all interfaces that are classes of fleet are above the rank; else None."""
    is_known = any(_is_of_fleet(kind) and _rank(kind) <= rank for kind in interfaces)
    return None if is_known or _rank(named) <= rank else named


def _values_held(each: object, rank: int) -> Iterator[Held]:
    """Yield the values that an object holds, by name, each with the rank of what holds it: the object or one of its classes."""
    match each:
        case dict():
            yield from ((str(key), rank, value) for key, value in each.items())
        case list() | tuple() | set() | frozenset() | deque():
            yield from ((str(number), rank, value) for number, value in enumerate(each))
        case types.FunctionType():
            cells = zip(each.__code__.co_freevars, each.__closure__ or (), strict=True)
            yield from ((name, rank, cell.cell_contents) for name, cell in cells)
            yield from (("defaults", rank, value) for value in (each.__defaults__, each.__kwdefaults__) if value)
            yield from _attributes(each, rank)
        case types.MethodType() | types.BuiltinMethodType():
            yield "self", rank, each.__self__
        case functools.partial():
            yield from (("func", rank, each.func), ("args", rank, each.args), ("keywords", rank, each.keywords))
        case type() | types.ModuleType():
            return
        case _:
            yield from _attributes(each, _rank(type(each)) if _is_of_fleet(type(each)) else rank)


def _attributes(each: object, rank: int) -> Iterator[Held]:
    """Yield the attributes of an object and, when it is one of fleet, those of its classes."""
    kinds = [kind for kind in type(each).__mro__ if _is_of_fleet(kind)]
    for kind in kinds:
        for name, value in [*vars(kind).items()]:
            if isinstance(value, made_once):
                getattr(each, name)  # makes the attribute, so that it is among the values
                continue
            yield name, _rank(kind), value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
        slots = getattr(kind, "__slots__", ())
        yield from ((slot, rank, getattr(each, slot)) for slot in slots if hasattr(each, slot))
    yield from ((name, rank, value) for name, value in getattr(each, "__dict__", {}).items())


def _is_of_fleet(kind: type) -> bool:
    """Return whether a class belongs to fleet."""
    return kind.__module__.startswith("fleet.")


def _rank(of: type | types.FunctionType) -> int:
    """Return the rank of the layer that defines a class or function; 0 outside fleet."""
    parts = (of.__module__ or "").split(".")
    return RANKS.get(parts[1], 0) if parts[0] == "fleet" and len(parts) > 1 else 0


def running_faults() -> list[str]:
    """Return the faults of a Fleet in a new home: of a command, and of the daemon while it serves."""
    with tempfile.TemporaryDirectory(prefix="fleet-upcalls-") as home, Fleet.open(home, actor="check") as fleet:
        faults = upcalls(*_with_parts(fleet))
        household = Household(fleet.home, fleet.world.record, Funnel())
        household.serve()
        try:
            return [*faults, *upcalls(*_with_parts(household.open()))]
        finally:
            household.leave()
            household.end(monotonic() + 10)


def _with_parts(fleet: Fleet) -> list[object]:
    """Return a Fleet with its parts and the context of its verbs, which are made at first use."""
    return [fleet, fleet.context, *(getattr(fleet, name) for name in PARTS)]


def main() -> int:
    """Check the source and a running Fleet, print the faults, and return the exit code."""
    given = stored_callables(SOURCE)
    faults = [
        f"{name} stores a callable that it was given; pass a value, or add the reason to GIVEN"
        for name in given - set(GIVEN)
    ]
    faults += [f"GIVEN names {name}, which does not exist" for name in set(GIVEN) - given]
    for name in [name for name in os.environ if name.startswith("FLEET_")]:
        del os.environ[name]  # the check may run inside an agent of a real fleet, and must not use its home
    faults += running_faults()
    print(*sorted(set(faults)), sep="\n", end="\n" if faults else "")
    print(f"upcalls: {len(given)} callables stored, {len(set(faults))} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
