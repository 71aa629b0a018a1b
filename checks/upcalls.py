"""Fail when an object of a lower layer holds a callable of a higher layer. import-linter sees only imports.

There are two checks. In the source, no class of `api` or below stores a callable that it was given, except those in GIVEN. At run
time, no object that can be reached from the context of a verb, in a command or in the daemon, holds a function or method of a layer
above its own.
"""

from __future__ import annotations

import ast
import functools
import os
import sys
import tempfile
import types
from pathlib import Path
from typing import TYPE_CHECKING

from fleet.api.fleet import Fleet
from fleet.fast import made_once
from fleet.surfaces.daemon.household import Household
from fleet.world.funnel import Funnel

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE = Path(__file__).parent.parent / "src" / "fleet"
RANKS = {
    name: rank
    for rank, layer in enumerate(
        ("errors", "model", "world", "store engines resources", "verbs", "api", "testing", "demo", "surfaces")
    )
    for name in layer.split()
}
# Callables that a class of `api` or below may be given and keep, and why.
GIVEN = {
    "api.actor.Actor.opened_by_daemon": "how commands open the home while they run inside its daemon",
    "api.loop.Loop._say": "where fleet's own coordinator prints; ends with the loop",
    "api.remote.following.PushedOperations._wanted": "whether the follower is still wanted; ends with it",
    "api.remote.following.Silence._newest": "of its own layer",
    "api.watch.Watch._say": "where the watch of a session prints; ends with the watch",
    "model.text.documents.kinds.Kind.accepts": "of its own layer",
    "resources.kind.Order.meanwhile": "what to do while git writes a worktree; ends with the order",
    "store.transaction.Change.work": "the work of a transaction; ends with it",
    "verbs.jobs.items.inputs.CommandRunner.check_wanted": "of its own layer",
    "verbs.jobs.progress.Progress._tell": "where a job's progress goes; ends with the run",
    "verbs.jobs.run.Runner._wanted": "whether the run is still wanted; ends with it",
    "world.git.git.Git._sees_everyone": "of its own layer",
    "world.git.ignored.Remains._is_reproducible": "of its own layer",
    "world.process.programs.Programs._lease": "of its own layer",
}


# in the source --------------------------------------------------------------------------------------------------------
def stored_callables(source: Path) -> set[str]:
    """Return every attribute of a class of `api` or below that keeps a callable given to it, as module.Class.attribute."""
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
        for each in ast.walk(tree)
        if isinstance(each, ast.ClassDef)
        for attribute in _callables(each, names)
    }


def _aliases(tree: ast.Module) -> Iterator[str]:
    """Yield the names that stand for a type of callable."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and "Callable[" in ast.unparse(node.value)
        ):
            yield node.targets[0].id


def _callables(made: ast.ClassDef, names: set[str]) -> Iterator[str]:
    """Yield the attributes of a class that keep a given callable: annotated fields and stored parameters."""
    for node in made.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and _mentions(node.annotation, names):
            yield node.target.id
        if isinstance(node, ast.FunctionDef):
            args = [*node.args.args, *node.args.kwonlyargs]
            given = {arg.arg for arg in args if arg.annotation is not None and _mentions(arg.annotation, names)}
            yield from _stored_parameters(node, given)


def _stored_parameters(function: ast.FunctionDef, given: set[str]) -> Iterator[str]:
    """Yield the attributes to which a method assigns one of the given parameters."""
    for node in ast.walk(function):
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Name) or node.value.id not in given:
            continue
        yield from (target.attr for target in node.targets if isinstance(target, ast.Attribute))


def _mentions(annotation: ast.expr, names: set[str]) -> bool:
    """Return whether an annotation contains one of the names."""
    return any(isinstance(node, ast.Name) and node.id in names for node in ast.walk(annotation))


# at run time ----------------------------------------------------------------------------------------------------------
def upcalls(root: object) -> list[str]:
    """Return a line for each callable, reachable from an object, whose layer is above that of the object that holds it."""
    faults: list[str] = []
    seen: set[int] = set()
    waiting: list[tuple[str, int, object]] = [(type(root).__name__, _rank(type(root)), root)]
    while waiting:
        name, rank, each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        above = (owner for owner in _owners(each) if _rank(owner) > rank)
        faults += [f"{name} is {owner.__module__}.{owner.__qualname__}" for owner in above]
        inner = _rank(type(each)) if _is_of_fleet(type(each)) else rank
        waiting += [(f"{name}.{key}", inner, value) for key, value in _values_held(each)]
    return faults


def _owners(each: object) -> Iterator[type | types.FunctionType]:
    """Yield the function of a callable, and the class of the object to which it is bound."""
    if isinstance(each, functools.partial):
        yield from _owners(each.func)
    if isinstance(each, types.MethodType):
        yield type(each.__self__)
        yield from _owners(each.__func__)
    if isinstance(each, types.FunctionType):
        yield each


def _values_held(each: object) -> Iterator[tuple[str, object]]:
    """Yield the values that an object holds, by name: items, attributes, closure cells."""
    if isinstance(each, dict):
        yield from ((str(key), value) for key, value in each.items())
    elif isinstance(each, (list, tuple, set, frozenset)):
        yield from ((str(number), value) for number, value in enumerate(each))
    elif isinstance(each, types.FunctionType):
        yield from (
            (cell, value.cell_contents)
            for cell, value in zip(each.__code__.co_freevars, each.__closure__ or (), strict=True)
        )
    elif isinstance(each, types.MethodType):
        yield "self", each.__self__
    elif _is_of_fleet(type(each)):
        # Compute the attributes that are made at first use, so that they are among the values.
        for name in [
            name
            for kind in type(each).__mro__
            for name, attribute in vars(kind).items()
            if isinstance(attribute, made_once)
        ]:
            getattr(each, name)
        yield from vars(each).items() if hasattr(each, "__dict__") else ()
        slots = [slot for kind in type(each).__mro__ for slot in getattr(kind, "__slots__", ())]
        yield from ((slot, getattr(each, slot)) for slot in slots if hasattr(each, slot))


def _is_of_fleet(kind: type) -> bool:
    """Return whether a class belongs to fleet."""
    return kind.__module__.startswith("fleet.")


def _rank(of: type | types.FunctionType) -> int:
    """Return the rank of the layer that defines a class or function; 0 outside fleet."""
    parts = (of.__module__ or "").split(".")
    return RANKS.get(parts[1], 0) if parts[0] == "fleet" and len(parts) > 1 else 0


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
    with tempfile.TemporaryDirectory(prefix="fleet-upcalls-") as home, Fleet.open(home, actor="check") as fleet:
        faults += upcalls(fleet.context)
        faults += upcalls(Household(fleet.home, fleet.world.record, Funnel()).open().context)
    print(*sorted(faults), sep="\n", end="\n" if faults else "")
    print(f"upcalls: {len(given)} callables stored, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
