"""What the annotations of our source say about the types of variables, without a type checker: enough to know a claim from an agent.

A type is a set of words: the names in an annotation. The word UNKNOWN stands for whatever has no annotation.
"""

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

UNKNOWN = "?"
Words = frozenset[str]
NOTHING: Words = frozenset()
UNKNOWN_WORDS = frozenset({UNKNOWN})
# Calls that return what they are given, or what the function that they are given returns.
_THROUGH = frozenset(
    {"read", "next", "list", "sorted", "iter", "reversed", "max", "min", "set", "tuple", "filter", "values"}
)


def words(annotation: ast.expr | None) -> Words:
    """Return the names in an annotation; UNKNOWN when there is none."""
    if annotation is None:
        return UNKNOWN_WORDS
    found = set()
    for node in ast.walk(annotation):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
            found.add(node.value)
    return frozenset(found)


class Types:
    """The attributes of all classes, and what all functions return. What has the same name in two modules has both types."""

    def __init__(self) -> None:
        self.attributes: dict[str, dict[str, Words]] = defaultdict(dict)
        self.returns: dict[str, Words] = defaultdict(lambda: NOTHING)

    def add(self, tree: ast.Module) -> None:
        """Add the classes and functions of a module."""
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                for name, annotation in _annotated(node):
                    known = self.attributes[node.name]
                    known[name] = known.get(name, NOTHING) | words(annotation)
            elif isinstance(node, ast.FunctionDef):
                self.returns[node.name] |= words(node.returns)

    def of_attribute(self, receiver: Words, attribute: str) -> Words:
        """Return the type of an attribute; UNKNOWN when the receiver's type is unknown or has no such attribute."""
        if UNKNOWN in receiver:
            return UNKNOWN_WORDS
        found = [self.attributes[each][attribute] for each in receiver if attribute in self.attributes.get(each, {})]
        return NOTHING.union(*found) or UNKNOWN_WORDS


def _annotated(node: ast.ClassDef) -> Iterator[tuple[str, ast.expr | None]]:
    """Yield the attributes of a class with their annotations.

    They are the annotated names in its body, its methods and properties with what they return, and, in place of what
    `__init__` assigns, the parameters of `__init__`.
    """
    for each in ast.walk(node):
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
            yield each.target.id, each.annotation
        elif isinstance(each, ast.FunctionDef) and each.name == "__init__":
            yield from ((arg.arg, arg.annotation) for arg in _arguments(each.args))
        elif isinstance(each, ast.FunctionDef):
            yield each.name, each.returns


def _arguments(args: ast.arguments) -> list[ast.arg]:
    """Return all arguments of a function."""
    return [*args.posonlyargs, *args.args, *args.kwonlyargs]


def read_types(folders: Iterable[Path]) -> Types:
    """Return what all modules below some folders define."""
    types = Types()
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            types.add(ast.parse(path.read_text(encoding="utf-8")))
    return types


class Scope:
    """The types of the variables of one function, with those of the functions inside it."""

    def __init__(self, types: Types, function: ast.AST) -> None:
        self._types = types
        self._variables: dict[str, Words] = {}
        for node in ast.walk(function):
            if isinstance(node, ast.FunctionDef):
                for arg in _arguments(node.args):
                    self._add(arg.arg, words(arg.annotation))
        for _ in range(3):  # a variable that is made of another one, which is made of a third
            for target, value in _bindings(function):
                self._bind(target, self.type_of(value))

    def _add(self, name: str, found: Words) -> None:
        """Add a type to those that a variable may have."""
        self._variables[name] = self._variables.get(name, NOTHING) | found

    def _bind(self, target: ast.expr, found: Words) -> None:
        """Give a variable a type, or each of several variables the whole type of their tuple."""
        for node in ast.walk(target):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                self._add(node.id, found)

    def type_of(self, node: ast.expr) -> Words:
        """Return the type of an expression, as far as it is known: NOTHING for an unknown variable, else maybe UNKNOWN.

        The type of a list or a tuple has also the words of its elements' types.
        """
        if isinstance(node, ast.Name):
            return self._variables.get(node.id, NOTHING)
        if isinstance(node, ast.Attribute):
            return self.of_attribute(self.type_of(node.value), node.attr)
        if isinstance(node, ast.Call):
            return self._type_of_call(node)
        parts = _parts(node)
        return UNKNOWN_WORDS if parts is None else NOTHING.union(*map(self.type_of, parts))

    def of_attribute(self, receiver: Words, attribute: str) -> Words:
        """Return the type of an attribute of a value whose type is `receiver`; UNKNOWN when that is not known."""
        return self._types.of_attribute(receiver or UNKNOWN_WORDS, attribute)

    def _type_of_call(self, node: ast.Call) -> Words:
        """Return the type of a call's result: the class that is called, or what its function's annotation says.

        A function of _THROUGH has the type of its arguments.
        """
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", UNKNOWN)
        if name == "of" and isinstance(node.func, ast.Attribute):
            return self._class_of(node.func.value)
        if name in _THROUGH and node.args:
            return NOTHING.union(*map(self.type_of, node.args))
        if name == "map" and node.args:
            return self._mapped(node.args[0])
        if name in self._types.attributes:
            return frozenset({name})
        return self._types.returns.get(name) or UNKNOWN_WORDS

    def _class_of(self, node: ast.expr) -> Words:
        """Return the class whose method `of` is called; UNKNOWN when it is no class of ours."""
        return (
            frozenset({node.id}) if isinstance(node, ast.Name) and node.id in self._types.attributes else UNKNOWN_WORDS
        )

    def _mapped(self, function: ast.expr) -> Words:
        """Return the type of what `map` makes with a function, or with the method `of` of a class of ours."""
        if isinstance(function, ast.Attribute) and function.attr == "of":
            return self._class_of(function.value)
        return self._types.returns.get(getattr(function, "id", UNKNOWN)) or UNKNOWN_WORDS


def _parts(node: ast.expr) -> list[ast.expr] | None:
    """Return the expressions of whose types an expression's type is made; None when its type is unknown."""
    parts: list[ast.expr] | None = None
    match node:
        case ast.Constant():
            parts = []
        case ast.Subscript() | ast.NamedExpr() | ast.Starred():
            parts = [node.value]
        case ast.Lambda():
            parts = [node.body]
        case ast.IfExp():
            parts = [node.body, node.orelse]
        case ast.BoolOp():
            parts = node.values
        case ast.ListComp() | ast.GeneratorExp() | ast.SetComp():
            parts = [node.elt]
        case ast.Tuple() | ast.List():
            parts = node.elts
        case _:
            pass
    return parts


def _bindings(function: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield each target in a function with the expression whose value, or whose elements, it gets."""
    for node in ast.walk(function):
        match node:
            case ast.Assign():
                yield from ((target, node.value) for target in node.targets)
            case ast.AnnAssign(value=ast.expr() as value):
                yield node.target, value
            case ast.NamedExpr():
                yield node.target, node.value
            case ast.For() | ast.comprehension():
                yield node.target, node.iter
            case _:
                pass
