"""Read the named queries of the .sql files, with the types of their parameters and rows."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlcompiler.expressions import Scope, is_one_row, item_type, items_of, scope_of_select, scope_of_with
from sqlcompiler.schema import Type
from sqlcompiler.taken import parameter_types
from sqlcompiler.words import Unclear, nested, parameters

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path

    from sqlcompiler.schema import Table
    from sqlcompiler.words import Node

Shape = dict[str, Type]
_RETURNS = re.compile(r"([A-Z][A-Za-z]+)([?*!])")
_DIRECTIVE = re.compile(r"(returns|column|takes|module): ")
_DECLARED = re.compile(r"([a-z_]+) (\w+)( \| None)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One query with its types. `many` is ?, * or !; for a query that writes, `row` and `many` are empty.

    `module` is the module that it is compiled into, `source` the name of its file without `.sql`. `takes` has the types
    of its parameters, `shape` those of its columns.
    """

    module: str
    source: str
    name: str
    description: str
    statement: str
    takes: dict[str, Type]
    row: str = ""
    many: str = ""
    shape: Shape = field(default_factory=dict)


class Reader:
    """Read .sql files and check them against a migrated database."""

    def __init__(self, db: sqlite3.Connection, tables: dict[str, Table], states: frozenset[str]) -> None:
        self._db = db
        self._tables = tables
        self._types = states | {"int", "str"}

    def read(self, file: Path) -> list[Query]:
        """Return the queries of a file, in their order; raise Unclear when one cannot be compiled."""
        blocks = re.split(r"^-- name: ", file.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
        return [self._query(file, block) for block in blocks]

    def _query(self, file: Path, block: str) -> Query:
        """Return the query in a block; raise Unclear, with the names of file and query, when it cannot be compiled."""
        name, *lines = block.splitlines()
        try:
            return self._typed_query(file.stem, name.strip(), lines)
        except Unclear as why:
            raise Unclear(f"{file.name}: {name.strip()}: {why}") from None

    def _typed_query(self, source: str, name: str, lines: list[str]) -> Query:
        """Return a query with the types of its parameters and its row."""
        comments = [line[3:] for line in lines if line.startswith("-- ")]
        text = " ".join(line.strip() for line in lines if not line.startswith("--"))
        statement = re.sub(r"\s+", " ", text.strip().rstrip(";"))
        nodes = nested(statement)
        columns, takes = self._declared_types(comments, "column"), self._declared_types(comments, "takes")
        if extra := takes.keys() - set(parameters(nodes)):
            raise Unclear(f"it declares `takes` for {', '.join(extra)}, which are not its parameters")
        row, many = self._returns(comments, reads=nodes[0] in {"SELECT", "WITH"})
        self._db.execute(f"EXPLAIN {statement}", dict.fromkeys(parameters(nodes), 0))
        return Query(
            module=_module(comments) or source,
            source=source,
            name=name,
            description=" ".join(line for line in comments if not _DIRECTIVE.match(line)),
            statement=statement,
            takes=parameter_types(nodes, self._tables, takes),
            row=row,
            many=many,
            shape=self._shape(statement, nodes, many, columns) if row else {},
        )

    def _declared_types(self, comments: list[str], word: str) -> Shape:
        """Return the types that comments like `-- takes: name int` declare, by name."""
        types = {}
        for line in comments:
            if line.startswith(f"{word}: "):
                declared = _DECLARED.fullmatch(line.removeprefix(f"{word}: "))
                if declared is None or declared[2] not in self._types:
                    raise Unclear(
                        f"`{line}` is not understood: write `{word}: name int`, `str` or a Literal, ` | None`"
                    )
                types[declared[1]] = Type(declared[2], bool(declared[3]))
        return types

    @staticmethod
    def _returns(comments: list[str], *, reads: bool) -> tuple[str, str]:
        """Return the row class and the cardinality that `-- returns:` declares; empty texts for a query that writes."""
        declared = [line.removeprefix("returns: ") for line in comments if line.startswith("returns: ")]
        if not reads and not declared:
            return "", ""
        match = _RETURNS.fullmatch(declared[0]) if declared else None
        if match is None or not reads:
            raise Unclear(
                "what it returns is not understood: a SELECT says `-- returns: Name?` (at most one), `Name*` (many) or "
                "`Name!` (exactly one), anything else says nothing"
            )
        return match[1], match[2]

    def _shape(self, statement: str, nodes: list[Node], many: str, columns: Shape) -> Shape:
        """Return the columns of a SELECT with their types."""
        cursor = self._db.execute(statement, dict.fromkeys(parameters(nodes), 0))
        names = [column[0] for column in cursor.description]
        outer = Scope(self._tables)
        if nodes[0] == "WITH":
            nodes, outer = scope_of_with(nodes, outer)
        if many == "!" and not is_one_row(nodes):
            raise Unclear("it may have no row: only a SELECT without FROM, or of aggregates alone, has exactly one")
        known = _selected_types(nodes, scope_of_select(nodes, outer))
        if len(set(names)) != len(names) or len(known) != len(names):
            raise Unclear(f"two of its columns have the same name, or a column is not recognised: {', '.join(names)}")
        if extra := columns.keys() - set(names):
            raise Unclear(f"it declares `column` for {', '.join(extra)}, which it does not return")
        return {name: columns.get(name) or _require_type(name, each) for name, each in zip(names, known, strict=True)}


def _module(comments: list[str]) -> str:
    """Return the module that `-- module: name` declares, for a query of a hot command; empty without one."""
    declared = [line.removeprefix("module: ") for line in comments if line.startswith("module: ")]
    return declared[0] if declared else ""


def _selected_types(nodes: list[Node], scope: Scope) -> list[Type | None]:
    """Return the type of each selected column, with * expanded; None where it cannot be determined."""
    types: list[Type | None] = []
    for item in items_of(nodes):
        match item:
            case ["*"]:
                types += [each for table in scope.tables.values() for each in table.values()]
            case [str() as alias, ".", "*"]:
                types += scope.tables[alias].values()
            case _:
                types.append(item_type(item, scope))
    return types


def _require_type(name: str, known: Type | None) -> Type:
    """Return the type of a column. Raise Unclear when it is not known."""
    if known is None:
        raise Unclear(f"the type of the column {name} cannot be told: write `-- column: {name} int` or `… str | None`")
    return known
