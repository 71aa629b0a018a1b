"""Find the types of a statement's parameters from the columns that they are compared with or written into."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlcompiler.expressions import Scope, results, scope_of_select, scope_of_with, type_of
from sqlcompiler.schema import Type, plain
from sqlcompiler.words import Unclear, between, operands, parameters, split

if TYPE_CHECKING:
    from sqlcompiler.schema import Table
    from sqlcompiler.words import Node

_COMPARISONS = frozenset({"=", "<>", "<", ">", "<=", ">="})


class ParameterUses:
    """How the parameters of a statement are used: the types expected at each use, and the types of casts."""

    def __init__(self) -> None:
        self.used: dict[str, list[Type]] = {}
        self.cast: dict[str, str] = {}

    def learn(self, nodes: list[Node], known: Type | None, *, nullable: bool) -> None:
        """Record the type for each parameter that can give the value of this expression; do nothing without a type.

        `nullable` says whether NULL is allowed there.
        """
        for leaf in results(nodes):
            if known and len(leaf) == 1 and isinstance(leaf[0], str) and leaf[0].startswith(":"):
                self.used.setdefault(leaf[0][1:], []).append(Type(known.base, nullable and len(nodes) == 1))

    def type_of(self, name: str) -> Type:
        """Return the type of a parameter; raise Unclear when its uses do not tell.

        The parameter may be None if it is cast, or if every use allows NULL.
        """
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


def parameter_types(nodes: list[Node], tables: dict[str, Table], declared: dict[str, Type]) -> dict[str, Type]:
    """Return the type of each parameter; types that the query declares itself take precedence."""
    uses = ParameterUses()
    _statement(nodes, Scope(tables), uses)
    return {name: declared.get(name) or uses.type_of(name) for name in parameters(nodes)}


def _statement(nodes: list[Node], outer: Scope, uses: ParameterUses) -> None:
    """Record the uses of parameters in a statement and in its parts."""
    if nodes and nodes[0] == "WITH":
        nodes, outer = _with(nodes, outer, uses)
    for part in split(nodes, "UNION"):
        match part:
            case ["SELECT", *_]:
                _conditions(part, scope_of_select(part, outer), uses)
            case ["INSERT", "INTO", str() as table, list() as columns, "VALUES", list() as values, *rest]:
                _insert(table, columns, values, outer, uses)
                _update(table, rest, outer, uses)
            case ["UPDATE", str() as table, *rest]:
                _update(table, rest, outer, uses)
            case ["DELETE", "FROM", str() as table, *rest]:
                _update(table, rest, outer, uses)
            case _:
                _conditions(part, outer, uses)


def _with(nodes: list[Node], outer: Scope, uses: ParameterUses) -> tuple[list[Node], Scope]:
    """Record the uses inside WITH; return the statement after it and its scope."""
    rest, scope = scope_of_with(nodes, outer)
    for node in nodes[: len(nodes) - len(rest)]:
        if isinstance(node, list):
            _statement(node, scope, uses)
    return rest, scope


def _insert(table: str, columns: list[Node], values: list[Node], outer: Scope, uses: ParameterUses) -> None:
    """Record the parameters that an INSERT writes into columns."""
    scope = Scope(outer.every)
    scope.add(table, table)
    for column, value in zip(split(columns, ","), split(values, ","), strict=True):
        _write(column, value, scope, uses)


def _update(table: str, nodes: list[Node], outer: Scope, uses: ParameterUses) -> None:
    """Record the parameters that an UPDATE writes, also one of ON CONFLICT, and those of its WHERE or a DELETE's."""
    scope = Scope(outer.every)
    scope.add(table, table)
    for assignment in split(between(nodes, "SET", "WHERE"), ","):
        if "=" in assignment:
            at = assignment.index("=")
            _write(assignment[:at], assignment[at + 1 :], scope, uses)
            _conditions(assignment[at + 1 :], scope, uses)
    _conditions(between(nodes, "WHERE"), scope, uses)


def _write(column: list[Node], value: list[Node], scope: Scope, uses: ParameterUses) -> None:
    """Record the parameter that is written into a column. Raise Unclear for an unknown column."""
    known = type_of(column, scope)
    if known is None:
        raise Unclear(f"there is no column {column}")
    uses.learn(value, known, nullable=known.nullable)


def _conditions(nodes: list[Node], scope: Scope, uses: ParameterUses) -> None:
    """Record the parameters that are compared with columns, cast, or used with LIKE and LIMIT."""
    for at, node in enumerate(nodes):
        if isinstance(node, list):
            if at and nodes[at - 1] == "CAST":
                _cast(node, uses)
            _statement(node, scope, uses)
        elif node in _COMPARISONS:
            left, right = operands(nodes, at)
            uses.learn(left, type_of(right, scope), nullable=False)
            uses.learn(right, type_of(left, scope), nullable=False)
        elif node == "LIKE":
            uses.learn(operands(nodes, at)[1], Type("str"), nullable=False)
        elif node == "LIMIT":
            uses.learn(nodes[at + 1 : at + 2], Type("int"), nullable=False)


def _cast(group: list[Node], uses: ParameterUses) -> None:
    """Record the type that a parameter is cast to; do nothing when something else is cast."""
    match group:
        case [str() as word, "AS", str() as declared] if word.startswith(":"):
            uses.cast[word[1:]] = plain(declared)
