"""Read the types of all columns from the migrated schema and the Literals of model/states.py."""

from __future__ import annotations

import ast
import re
import sqlite3
from typing import TYPE_CHECKING, NamedTuple

from fleet.store.migrations import MIGRATIONS
from sqlcompiler.words import Unclear

if TYPE_CHECKING:
    from pathlib import Path

_PLAIN = {"INTEGER": "int", "BIGINT": "int", "TEXT": "str"}
_CHECK = re.compile(r"CHECK \((\w+) IN \(('[^)]*')\)\)")


class Type(NamedTuple):
    """A Python type; `base` is int, str or the name of a Literal of str."""

    base: str
    nullable: bool = False

    def __str__(self) -> str:
        """Return the type as an annotation."""
        return f"{self.base} | None" if self.nullable else self.base


Table = dict[str, Type]


def plain(declared: str) -> str:
    """Return the Python type of an SQL type. Raise Unclear for an unknown one."""
    if declared not in _PLAIN:
        raise Unclear(f"the type {declared} is not one of {', '.join(_PLAIN)}")
    return _PLAIN[declared]


def migrated() -> sqlite3.Connection:
    """Return an empty database with the newest schema."""
    db = sqlite3.connect(":memory:")
    for migration in MIGRATIONS:
        for statement in migration.statements():
            db.execute(statement)
    return db


def literals(file: Path) -> dict[str, frozenset[str]]:
    """Return the Literals of strings that a module defines, by name."""
    found = {}
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Subscript)
            and isinstance(node.targets[0], ast.Name)
        ):
            values = ast.literal_eval(node.value.slice)
            found[node.targets[0].id] = frozenset([values] if isinstance(values, str) else values)
    return found


def tables(db: sqlite3.Connection, states: dict[str, frozenset[str]]) -> dict[str, Table]:
    """Return every table with the types of its columns."""
    texts = db.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'table' ORDER BY name").fetchall()
    return {name: _columns(db, name, _checks(name, text, states)) for name, text in texts}


def _columns(db: sqlite3.Connection, table: str, named: dict[str, str]) -> Table:
    """Return the columns of a table with their types."""
    rows = db.execute(f"PRAGMA table_info({table})").fetchall()
    return {
        name: Type(named.get(name) or plain(declared), not (required or key))
        for _number, name, declared, required, _default, key in rows
    }


def _checks(table: str, text: str, states: dict[str, frozenset[str]]) -> dict[str, str]:
    """Return the Literal of each column whose values a CHECK lists. Raise Unclear when no single Literal fits."""
    found = {}
    for column, listed in _CHECK.findall(text):
        values = frozenset(re.findall(r"'([^']*)'", listed))
        names = [name for name, known in states.items() if known == values]
        if len(names) != 1:
            which = f"{' and '.join(names)} have" if names else "no Literal of model/states.py has"
            raise Unclear(f"{table}.{column}: {which} exactly the values ({listed}) of its CHECK")
        found[column] = names[0]
    return found
