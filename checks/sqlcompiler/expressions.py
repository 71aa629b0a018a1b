"""Find the type of an SQL expression, as far as the schema determines it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlcompiler.schema import Table, Type, plain
from sqlcompiler.words import Unclear, between, split

if TYPE_CHECKING:
    from sqlcompiler.words import Node

_INT = Type("int")
_STR = Type("str")
_AGGREGATES = frozenset({"COUNT", "SUM", "MIN", "MAX"})
_CLAUSES = ("WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "UNION")


class Scope:
    """The tables whose columns a part of a statement can name. Columns of a table after LEFT JOIN may be NULL."""

    def __init__(self, every: dict[str, Table], outer: Scope | None = None) -> None:
        self.every = every
        self.tables: dict[str, Table] = {}
        self._outer = outer

    def add(self, table: str, alias: str, *, missing: bool = False) -> None:
        """Add a table under its alias, or raise Unclear if it is unknown; with `missing` its columns may be NULL."""
        if table not in self.every:
            raise Unclear(f"there is no table {table!r}")
        columns = self.every[table]
        self.tables[alias] = {n: Type(t.base, nullable=True) for n, t in columns.items()} if missing else columns

    def column(self, name: str, alias: str | None = None) -> Type | None:
        """Return the type of a column, from the inner scope first; None when no table in scope has the column."""
        for each, columns in self.tables.items():
            if name in columns and alias in {None, each}:
                return columns[name]
        return self._outer.column(name, alias) if self._outer else None


def scope_of_select(nodes: list[Node], outer: Scope) -> Scope:
    """Return the scope inside a SELECT: the tables of its FROM."""
    scope = Scope(outer.every, outer)
    missing = False
    words = between(nodes, "FROM", *_CLAUSES)
    for number, node in enumerate(words):
        if node == "LEFT":
            missing = True
        is_table = number == 0 or words[number - 1] in ("JOIN", ",")
        if is_table and isinstance(node, str):
            alias = words[number + 1] if number + 1 < len(words) else node
            named = isinstance(alias, str) and alias not in {"JOIN", "LEFT", "ON", ","}
            scope.add(node, str(alias) if named else node, missing=missing)
            missing = False
    return scope


def scope_of_with(nodes: list[Node], outer: Scope) -> tuple[list[Node], Scope]:
    """Return the statement after WITH, and a scope that includes the table that WITH defines.

    Raise Unclear unless WITH has the form `WITH name (columns) AS (SELECT …)`, with RECURSIVE or without.
    """
    start = 2 if nodes[1] == "RECURSIVE" else 1
    name, columns, _as, body = nodes[start : start + 4]
    if not (isinstance(name, str) and isinstance(columns, list) and isinstance(body, list)):
        raise Unclear("WITH is read only as WITH name (columns) AS (SELECT …)")
    first = split(body, "UNION")[0]
    types = [item_type(item, scope_of_select(first, outer)) for item in items_of(first)]
    made = {str(column): known for (column,), known in zip(split(columns, ","), types, strict=True) if known}
    return nodes[start + 4 :], Scope({**outer.every, name: made}, outer)


def items_of(select: list[Node]) -> list[list[Node]]:
    """Return the expressions that a SELECT selects."""
    return split(between(select, "SELECT", "FROM", *_CLAUSES), ",")


def item_type(item: list[Node], scope: Scope) -> Type | None:
    """Return the type of one selected expression; None when it cannot be determined."""
    return type_of(item[: item.index("AS")] if "AS" in item else item, scope)


def is_one_row(select: list[Node]) -> bool:
    """Return whether a SELECT always returns exactly one row: it has no FROM, or only aggregates without GROUP BY."""
    aggregate = all(any(node in _AGGREGATES for node in _flatten(item)) for item in items_of(select))
    return "FROM" not in select or (aggregate and "GROUP" not in select)


def _flatten(nodes: list[Node]) -> list[str]:
    """Return the words of nested lists as one list."""
    return [word for node in nodes for word in (_flatten(node) if isinstance(node, list) else [node])]


def type_of(nodes: list[Node], scope: Scope) -> Type | None:
    """Return the type of an expression; None when it cannot be determined."""
    match nodes:
        case [list() as group]:
            return _type_of_group(group, scope)
        case [str() as word]:
            return _type_of_word(word, scope)
        case [str() as alias, ".", str() as name]:
            return scope.column(name, alias)
        case [str() as function, list() as given]:
            return _type_of_function(function, given, scope)
        case ["CASE", *_, "END"]:
            return _common_type(results(nodes), scope, missing="ELSE" not in nodes)
        case _:
            return _type_of_operators(nodes, scope)


def _type_of_operators(nodes: list[Node], scope: Scope) -> Type | None:
    """Return the type of a sum or a concatenation; None for other operators."""
    for operators, made in ((("+", "-"), _INT), (("||",), _STR)):
        if any(node in operators for node in nodes):
            parts = [type_of(part, scope) for part in split(nodes, *operators)]
            return Type(made.base, any(part is None or part.nullable for part in parts))
    return None


def _type_of_word(word: str, scope: Scope) -> Type | None:
    """Return the type of a number, a text or a column."""
    if word.isdigit():
        return _INT
    return _STR if word.startswith("'") else scope.column(word)


def _type_of_group(select: list[Node], scope: Scope) -> Type | None:
    """Return the type of a group in parentheses: a subquery or an expression."""
    if select[0] != "SELECT":
        return type_of(select, scope)
    known = item_type(items_of(select)[0], scope_of_select(select, scope))
    return known and Type(known.base, known.nullable or not is_one_row(select))


# The functions whose type does not depend on what they are given.
_ALWAYS = {"COUNT": _INT, "EXISTS": _INT, "LENGTH": _INT, "LOWER": _STR, "SUBSTR": _STR}


def _type_of_function(function: str, given: list[Node], scope: Scope) -> Type | None:
    """Return the type of a function call; None for unknown functions."""
    match function:
        case "SUM" | "MIN" | "MAX":
            known = type_of(given, scope)
            return known and Type(known.base, nullable=True)
        case "CAST":
            known = type_of(split(given, "AS")[0], scope)
            return Type(plain(str(given[-1])), known is None or known.nullable)
        case "COALESCE":
            parts = [type_of(part, scope) for part in split(given, ",")]
            last, sure = parts[-1], [part for part in parts if part]
            return Type(_common_base(sure), last is None or last.nullable) if sure else None
        case _:
            return _ALWAYS.get(function)


def _common_type(parts: list[list[Node]], scope: Scope, *, missing: bool) -> Type | None:
    """Return the common type of several alternatives; None when one of them cannot be determined.

    It is nullable when one of them is, or with `missing`: then the value may be none of them.
    """
    known = [type_of(part, scope) for part in parts]
    sure = [each for each in known if each]
    if len(sure) != len(known):
        return None
    return Type(_common_base(sure), missing or any(each.nullable for each in sure))


def _common_base(types: list[Type]) -> str:
    """Return the base type that all types share; `str` when they differ."""
    bases = {each.base for each in types}
    return bases.pop() if len(bases) == 1 else "str"


def results(nodes: list[Node]) -> list[list[Node]]:
    """Return the parts of an expression that give its value: the arms of CASE, the parts of COALESCE and of sums."""
    match nodes:
        case ["CASE", *arms, "END"]:
            ends = ("WHEN", "ELSE", "END")
            arms_results = [between(arms[number:], "THEN", *ends) for number, node in enumerate(arms) if node == "THEN"]
            last = between(arms, "ELSE")
            return [leaf for part in [*arms_results, last] if part for leaf in results(part)]
        case ["COALESCE", list() as given]:
            return [leaf for part in split(given, ",") for leaf in results(part)]
        case _:
            parts = split(nodes, "+", "-")
            return [leaf for part in parts for leaf in results(part)] if len(parts) > 1 else [nodes]
