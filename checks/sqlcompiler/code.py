"""Write the text of the generated modules."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fleet.store.row import Row
from sqlcompiler.words import Unclear

if TYPE_CHECKING:
    from sqlcompiler.queries import Query, Shape

_HEAD = '''"""{about}, compiled by `make sql`. Do not edit."""

from __future__ import annotations

{imports}
TYPE_CHECKING = False
if TYPE_CHECKING:
{types}'''
_INDEX = '''"""The named queries of sql/, compiled by `make sql`. Do not edit. A module is loaded when one of its names is used."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
{types}
# One text a module: hundreds of short ones would take longer to load than a query takes to run.
_MODULES = {modules}


def __getattr__(name: str) -> object:
    for module, names in _MODULES.items():
        if f" {{name}} " in names:
            found = globals()[name] = getattr(__import__(f"fleet.store.queries.{{module}}", None, None, (name,)), name)
            return found
    msg = f"no query is named {{name!r}}"
    raise AttributeError(msg)
'''
SHARED = "shared"
_BUILTIN = frozenset({"int", "str"})
# How a query that reads calls Rows, and what it returns, by how many rows it returns.
_READS = {"?": ("select_one", "{row} | None"), "*": ("select_all", "list[{row}]"), "!": ("select_exactly_one", "{row}")}


def for_postgres(statement: str) -> str:
    """Return the statement with psycopg's placeholders."""
    return re.sub(r"(?<!:):([a-z_]+)", r"%(\1)s", statement.replace("%", "%%"))


def generated(queries: list[Query], tables: frozenset[str]) -> dict[str, str]:
    """Return the text of each generated module by its name."""
    shapes = _shapes(queries)
    homes = {row: _defining_module(row, queries, tables) for row in shapes}
    modules = sorted({query.module for query in queries} | set(homes.values()))
    _refuse_cycles(queries, homes)
    texts = {name: _module_text(name, queries, shapes, homes) for name in modules}
    return {"__init__": _package_text(modules, queries, homes), **texts}


def _shapes(queries: list[Query]) -> dict[str, Shape]:
    """Return the columns of each row class.

    Raise Unclear when two queries of one class return different columns, or a column is named as a method of Row.
    """
    found: dict[str, tuple[Query, Shape]] = {}
    for query in queries:
        if not query.row:
            continue
        first, shape = found.setdefault(query.row, (query, query.shape))
        if list(shape.items()) != list(query.shape.items()):
            differ = sorted({name for name, _ in shape.items() ^ query.shape.items()}) or ["their order"]
            raise Unclear(
                f"{query.source}.sql: {query.name}: it returns {query.row} as {first.name} does, but they differ in "
                f"{', '.join(differ)}: give it another name"
            )
        if taken := [name for name in query.shape if hasattr(Row, name)]:
            raise Unclear(
                f"{query.source}.sql: {query.name}: every row has a method {taken[0]}: give the column another name"
            )
    return {row: shape for row, (_, shape) in found.items()}


def _defining_module(row: str, queries: list[Query], tables: frozenset[str]) -> str:
    """Return the module that defines a row class.

    That is a module of a query with `-- module:` that returns such rows; else the module of their table, if its queries
    return them; else the only module whose queries return them; else the shared one.
    """
    users = {query.module for query in queries if query.row == row}
    # A module of hot commands has what it needs, so that they do not load another one.
    if apart := sorted(users - {query.source for query in queries}):
        return apart[0]
    named = [module for module in sorted(users & tables) if _singular(module) == row]
    return named[0] if named else users.pop() if len(users) == 1 else SHARED


def _singular(table: str) -> str:
    """Return the name of a table's row class."""
    return re.sub(r"(?<=ch)es$|s$", "", table).title()


def _refuse_cycles(queries: list[Query], homes: dict[str, str]) -> None:
    """Raise Unclear when two modules need each other's row classes."""
    needs = {(query.module, homes[query.row]) for query in queries if query.row and homes[query.row] != query.module}
    for one, other in sorted(needs):
        if (other, one) in needs:
            raise Unclear(f"{one}.sql and {other}.sql each return a row of the other: move one of the queries")


def _module_text(name: str, queries: list[Query], shapes: dict[str, Shape], homes: dict[str, str]) -> str:
    """Return the text of one generated module."""
    mine = [query for query in queries if query.module == name]
    own = [row for row in shapes if homes[row] == name]
    foreign = sorted({query.row for query in mine if query.row} - set(own))
    imports = [(f"queries.{homes[row]}", row) for row in foreign]
    imports += [("row", "Query")] * bool(mine) + [("row", "Row")] * bool(own)
    used = {each.base for row in own for each in shapes[row].values()}
    used |= {each.base for query in mine for each in query.takes.values()}
    doors = {"Rows" if query.row else "Tx" for query in mine}
    types = [("model.states", state) for state in used - _BUILTIN] + [("store.transaction", door) for door in doors]
    about = _about(name, mine)
    head = _HEAD.format(
        about=about,
        imports=_import_lines([(f"store.{module}", each) for module, each in imports]),
        types=_import_lines(types, indent="    ") or "    pass\n",
    )
    return "\n\n".join([head, *[_row_text(row, shapes[row]) for row in own], *map(_query_text, mine)])


def _about(name: str, mine: list[Query]) -> str:
    """Return what a generated module contains, for its docstring."""
    if not mine:
        return "Rows that queries of several files return"
    return (
        f"The queries of sql/{name}.sql" if mine[0].source == name else f"The queries marked `module: {name}` in sql/"
    )


def _import_lines(wanted: list[tuple[str, str]], indent: str = "") -> str:
    """Return the import lines for pairs of module and name."""
    modules: dict[str, list[str]] = {}
    for module, name in sorted(wanted):
        modules.setdefault(module, []).append(name)
    return "".join(f"{indent}from fleet.{module} import {', '.join(names)}\n" for module, names in modules.items())


def _row_text(name: str, shape: Shape) -> str:
    """Return the text of a row class."""
    slots = "".join(f"        {column!r},\n" for column in shape)
    given = "".join(f"        {column}: {known},\n" for column, known in shape.items())
    kept = "".join(f"        self.{column} = {column}\n" for column in shape)
    return (
        f"class {name}(Row):\n    __slots__ = (\n{slots}    )\n\n"
        f"    def __init__(\n        self,\n{given}    ) -> None:\n{kept}"
    )


def _query_text(query: Query) -> str:
    """Return the text of a query: its constant and its function."""
    constant = query.name.upper()
    row = query.row or "None"
    texts = f"    {query.name!r},\n    {query.statement!r},\n    {for_postgres(query.statement)!r},\n    {row},\n"
    given = ", ".join(
        [
            "tx: Tx, /" if not query.row else "rows: Rows, /",
            *(["*"] if query.takes else []),
            *_annotated_parameters(query),
        ]
    )
    values = ", ".join(f"{name!r}: {name}" for name in query.takes)
    if query.row:
        method, returns = _READS[query.many]
        body = f"rows.{method}({constant}, {query.row}, {{{values}}})"
        result = returns.format(row=query.row)
    else:
        body, result = f"tx.write({constant}, {{{values}}})", "int"
    doc = f"    {_docstring(query.description)}\n" if query.description else ""
    return f"{constant} = Query(\n{texts})\n\n\ndef {query.name}({given}) -> {result}:\n{doc}    return {body}\n"


def _annotated_parameters(query: Query) -> list[str]:
    """Return the query's parameters with their annotations."""
    return [f"{name}: {known}" for name, known in query.takes.items()]


def _docstring(text: str) -> str:
    return f'r"""{text} """' if text.endswith('"') else f'"""{text}"""'


def _package_text(modules: list[str], queries: list[Query], homes: dict[str, str]) -> str:
    """Return the text of the package's __init__, which imports a module when one of its names is used."""
    types = "".join(f"    from fleet.store.queries.{module} import *\n" for module in modules)
    table = ""
    for module in modules:
        names = [query.name for query in queries if query.module == module]
        names += [name.upper() for name in names] + [row for row, home in homes.items() if home == module]
        table += f"    {module!r}: ' '\n" + "".join(f"    '{name} '\n" for name in sorted(names)) + "    ,\n"
    return _INDEX.format(types=types, modules=f"{{\n{table}}}")
