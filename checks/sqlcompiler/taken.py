"""The types of a statement's parameters, from the columns they are compared with or written into."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlcompiler.expressions import Scope, results, scope_of_select, scope_of_with, type_of
from sqlcompiler.schema import Type, plain
from sqlcompiler.words import Unclear, between, operands, parameters, split

if TYPE_CHECKING:
    from sqlcompiler.schema import Table
    from sqlcompiler.words import Node

_COMPARISONS = frozenset({"=", "<>", "<", ">", "<=", ">="})


class Taken:
    """What was learnt of each parameter: written into or compared with a column, or cast because it may be missing."""

    def __init__(self) -> None:
        self.used: dict[str, list[Type]] = {}
        self.cast: dict[str, str] = {}

    def learn(self, nodes: list[Node], known: Type | None, *, nullable: bool) -> None:
        """A value of this type is expected where the expression stands."""
        for leaf in results(nodes):
            if known and len(leaf) == 1 and isinstance(leaf[0], str) and leaf[0].startswith(":"):
                self.used.setdefault(leaf[0][1:], []).append(Type(known.base, nullable and len(nodes) == 1))

    def type_of(self, name: str) -> Type:
        """The type of a parameter. A cast says that it may be None; any use that forbids None rules the others."""
        types = self.used.get(name, [])
        bases = {each.base for each in types} | ({self.cast[name]} if name in self.cast else set())
        if len(bases) > 1:
            bases.discard("str")
        if len(bases) != 1:
            seen = f"it is used as {' and '.join(sorted(bases))}" if bases else "it is compared with no column"
            raise Unclear(
                f"the type of :{name} cannot be told ({seen}): write `-- takes: {name} int` or `… str | None`"
            )
        return Type(bases.pop(), name in self.cast or all(each.nullable for each in types))


def taken(nodes: list[Node], tables: dict[str, Table], said: dict[str, Type]) -> dict[str, Type]:
    """The type of each parameter; what the query says itself goes first."""
    found = Taken()
    _statement(nodes, Scope(tables), found)
    return {name: said.get(name) or found.type_of(name) for name in parameters(nodes)}


def _statement(nodes: list[Node], outer: Scope, found: Taken) -> None:
    if nodes and nodes[0] == "WITH":
        nodes, outer = _with(nodes, outer, found)
    for part in split(nodes, "UNION"):
        match part:
            case ["SELECT", *_]:
                _conditions(part, scope_of_select(part, outer), found)
            case ["INSERT", "INTO", str() as table, list() as columns, "VALUES", list() as values, *rest]:
                _insert(table, columns, values, outer, found)
                _update(table, rest, outer, found)
            case ["UPDATE", str() as table, *rest]:
                _update(table, rest, outer, found)
            case ["DELETE", "FROM", str() as table, *rest]:
                _update(table, rest, outer, found)
            case _:
                _conditions(part, outer, found)


def _with(nodes: list[Node], outer: Scope, found: Taken) -> tuple[list[Node], Scope]:
    rest, scope = scope_of_with(nodes, outer)
    for node in nodes[: len(nodes) - len(rest)]:
        if isinstance(node, list):
            _statement(node, scope, found)
    return rest, scope


def _insert(table: str, columns: list[Node], values: list[Node], outer: Scope, found: Taken) -> None:
    scope = Scope(outer.every)
    scope.add(table, table)
    for column, value in zip(split(columns, ","), split(values, ","), strict=True):
        _write(column, value, scope, found)


def _update(table: str, nodes: list[Node], outer: Scope, found: Taken) -> None:
    scope = Scope(outer.every)
    scope.add(table, table)
    for assignment in split(between(nodes, "SET", "WHERE"), ","):
        if "=" in assignment:
            at = assignment.index("=")
            _write(assignment[:at], assignment[at + 1 :], scope, found)
            _conditions(assignment[at + 1 :], scope, found)
    _conditions(between(nodes, "WHERE"), scope, found)


def _write(column: list[Node], value: list[Node], scope: Scope, found: Taken) -> None:
    known = type_of(column, scope)
    if known is None:
        raise Unclear(f"there is no column {column}")
    found.learn(value, known, nullable=known.nullable)


def _conditions(nodes: list[Node], scope: Scope, found: Taken) -> None:
    for at, node in enumerate(nodes):
        if isinstance(node, list):
            if at and nodes[at - 1] == "CAST":
                _cast(node, found)
            _statement(node, scope, found)
        elif node in _COMPARISONS:
            left, right = operands(nodes, at)
            found.learn(left, type_of(right, scope), nullable=False)
            found.learn(right, type_of(left, scope), nullable=False)
        elif node == "LIKE":
            found.learn(operands(nodes, at)[1], Type("str"), nullable=False)
        elif node == "LIMIT":
            found.learn(nodes[at + 1 : at + 2], Type("int"), nullable=False)


def _cast(group: list[Node], found: Taken) -> None:
    match group:
        case [str() as word, "AS", str() as declared] if word.startswith(":"):
            found.cast[word[1:]] = plain(declared)
