"""The named queries of the .sql files, with what each takes and returns."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlcompiler.expressions import Scope, is_one_row, item_type, items_of, scope_of_select, scope_of_with
from sqlcompiler.schema import Type
from sqlcompiler.taken import taken
from sqlcompiler.words import Unclear, nested, parameters

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path

    from sqlcompiler.schema import Table
    from sqlcompiler.words import Node

Shape = dict[str, Type]
_RETURNS = re.compile(r"([A-Z][A-Za-z]+)([?*!])")
_SAID = re.compile(r"([a-z_]+) (\w+)( \| None)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One query: where it is written, its text, and its types. `many` is ?, * or !; without `row` it writes."""

    module: str
    name: str
    description: str
    statement: str
    takes: dict[str, Type]
    row: str = ""
    many: str = ""
    shape: Shape = field(default_factory=dict)


class Reader:
    """Reads .sql files with a migrated database at hand."""

    def __init__(self, db: sqlite3.Connection, tables: dict[str, Table], states: frozenset[str]) -> None:
        self._db = db
        self._tables = tables
        self._types = states | {"int", "str"}

    def read(self, file: Path) -> list[Query]:
        """The queries of a file, in their order."""
        blocks = re.split(r"^-- name: ", file.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
        return [self._query(file, block) for block in blocks]

    def _query(self, file: Path, block: str) -> Query:
        name, *lines = block.splitlines()
        try:
            return self._typed(file.stem, name.strip(), lines)
        except Unclear as why:
            raise Unclear(f"{file.name}: {name.strip()}: {why}") from None

    def _typed(self, module: str, name: str, lines: list[str]) -> Query:
        comments = [line[3:] for line in lines if line.startswith("-- ")]
        text = " ".join(line.strip() for line in lines if not line.startswith("--"))
        statement = re.sub(r"\s+", " ", text.strip().rstrip(";"))
        nodes = nested(statement)
        columns, takes = self._said(comments, "column"), self._said(comments, "takes")
        if extra := takes.keys() - set(parameters(nodes)):
            raise Unclear(f"it says `takes` of {', '.join(extra)}, which it does not take")
        row, many = self._returns(comments, reads=nodes[0] in {"SELECT", "WITH"})
        self._db.execute(f"EXPLAIN {statement}", dict.fromkeys(parameters(nodes), 0))
        return Query(
            module=module,
            name=name,
            description=" ".join(line for line in comments if not re.match(r"(returns|column|takes): ", line)),
            statement=statement,
            takes=taken(nodes, self._tables, takes),
            row=row,
            many=many,
            shape=self._shape(statement, nodes, many, columns) if row else {},
        )

    def _said(self, comments: list[str], word: str) -> Shape:
        found = {}
        for line in comments:
            if line.startswith(f"{word}: "):
                said = _SAID.fullmatch(line.removeprefix(f"{word}: "))
                if said is None or said[2] not in self._types:
                    raise Unclear(
                        f"`{line}` is not understood: write `{word}: name int`, `str` or a Literal, ` | None`"
                    )
                found[said[1]] = Type(said[2], bool(said[3]))
        return found

    @staticmethod
    def _returns(comments: list[str], *, reads: bool) -> tuple[str, str]:
        said = [line.removeprefix("returns: ") for line in comments if line.startswith("returns: ")]
        if not reads and not said:
            return "", ""
        found = _RETURNS.fullmatch(said[0]) if said else None
        if found is None or not reads:
            raise Unclear(
                "what it returns is not understood: a SELECT says `-- returns: Name?` (at most one), `Name*` (many) or "
                "`Name!` (exactly one), anything else says nothing"
            )
        return found[1], found[2]

    def _shape(self, statement: str, nodes: list[Node], many: str, columns: Shape) -> Shape:
        cursor = self._db.execute(statement, dict.fromkeys(parameters(nodes), 0))
        names = [column[0] for column in cursor.description]
        outer = Scope(self._tables)
        if nodes[0] == "WITH":
            nodes, outer = scope_of_with(nodes, outer)
        if many == "!" and not is_one_row(nodes):
            raise Unclear("it may have no row: only a SELECT without FROM, or of aggregates alone, has exactly one")
        known = _selected(nodes, scope_of_select(nodes, outer))
        if len(set(names)) != len(names) or len(known) != len(names):
            raise Unclear(f"its columns are not told apart: {', '.join(names)}")
        if extra := columns.keys() - set(names):
            raise Unclear(f"it says `column` of {', '.join(extra)}, which it does not return")
        return {name: columns.get(name) or _sure(name, each) for name, each in zip(names, known, strict=True)}


def _selected(nodes: list[Node], scope: Scope) -> list[Type | None]:
    found: list[Type | None] = []
    for item in items_of(nodes):
        match item:
            case ["*"]:
                found += [each for table in scope.tables.values() for each in table.values()]
            case [str() as alias, ".", "*"]:
                found += scope.tables[alias].values()
            case _:
                found.append(item_type(item, scope))
    return found


def _sure(name: str, known: Type | None) -> Type:
    if known is None:
        raise Unclear(f"the type of the column {name} cannot be told: write `-- column: {name} int` or `… str | None`")
    return known
