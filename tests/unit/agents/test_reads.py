"""A method of `Fleet` that goes past the daemon is a read: nothing that it calls commits a change or has an effect."""

import ast
import functools
import inspect
import textwrap
from types import FunctionType, ModuleType

import pytest

from fleet.api.actor import Part
from fleet.api.fleet import PARTS, part_class
from fleet.api.remote.acts import WAYS
from fleet.model.agents.roles import ACTS

# What commits a change to the store, asks leave for an act, or sends an effect through the funnel.
CHANGING = {"commit", "transact", "through", "may"}
# Effects that leave nothing changed.
HARMLESS = {
    "fleet.world.git.worktrees.worktree_status._differing": "git compares with a copy of the index, which is removed at once"
}


def methods() -> dict[str, tuple[type[Part], FunctionType]]:
    """Every public method of every part, as `part.method`, with the class of its part."""
    return {
        f"{name}.{method}": (part_class(name), getattr(part_class(name), method))
        for name in PARTS
        for method in dir(part_class(name))
        if not method.startswith("_")
    }


def names_in(function: FunctionType, tree: ast.AST) -> dict[str, object]:
    """What the names in a function mean: the globals of its module, and what the function imports by itself."""
    known = dict(function.__globals__)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("fleet"):
            module = __import__(node.module, fromlist=[each.name for each in node.names])
            known.update({each.asname or each.name: getattr(module, each.name) for each in node.names})
    return known


def meant(node: ast.expr, known: dict[str, object], part: type[Part] | None) -> object:
    """What an expression refers to: a function, a module, a class; None when that is not plain from the text."""
    if isinstance(node, ast.Name):
        return part if node.id == "self" else known.get(node.id)
    if isinstance(node, ast.Call):  # an object of a part, such as `Tasks(self._by)`
        made = meant(node.func, known, part)
        return made if isinstance(made, type) and issubclass(made, Part) else None
    if isinstance(node, ast.Attribute):
        owner = meant(node.value, known, part)
        is_owner = isinstance(owner, ModuleType) or (isinstance(owner, type) and issubclass(owner, Part))
        return getattr(owner, node.attr, None) if is_owner else None
    return None


@functools.cache
def looked_at(function: FunctionType, part: type[Part] | None) -> tuple[list[str], list[tuple[FunctionType, object]]]:
    """The places in a function that change something, and each function it refers to, with the class of its part."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    known, changes, others = names_in(function, tree), [], []
    for node in ast.walk(tree):
        name = f"{function.__module__}.{function.__qualname__}"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CHANGING:
            changes += [] if name in HARMLESS else [f"{name}: {ast.unparse(node.func)}"]
        other = meant(node, known, part) if isinstance(node, ast.Name | ast.Attribute) else None
        if isinstance(other, FunctionType) and inspect.unwrap(other).__module__.startswith("fleet."):
            owner = meant(node.value, known, part) if isinstance(node, ast.Attribute) else None
            others.append((inspect.unwrap(other), owner if isinstance(owner, type) else None))
    return changes, others


def changes_of(function: FunctionType, part: type[Part] | None) -> list[str]:
    """Each place where a function, or one that it refers to, changes something."""
    found, seen, left = [], set(), [(function, part)]
    while left:
        each = left.pop()
        if each not in seen:
            seen.add(each)
            changes, others = looked_at(*each)
            found += changes
            left += others
    return found


@pytest.mark.req("IPC-1")
@pytest.mark.parametrize("method", sorted(set(methods()) - set(WAYS)))
def test_what_goes_past_the_daemon_is_a_read(method):
    part, function = methods()[method]
    assert changes_of(function, part) == [], f"say in api/remote/acts.py which way {method} goes"


@pytest.mark.req("IPC-1")
@pytest.mark.parametrize("method", sorted(set(ACTS) & set(methods())))
def test_the_look_that_finds_no_change_in_a_read_finds_one_in_every_act(method):
    part, function = methods()[method]
    assert changes_of(function, part) != []
