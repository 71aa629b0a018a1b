"""The migrations of the database schema, one numbered .sql file each, oldest first.

A migration that was released is never edited; changes go into a new one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """One migration of the database schema."""

    number: int
    name: str
    text: str

    def statements(self) -> list[str]:
        """Return the migration's SQL statements for SQLite."""
        plain = re.sub(r"^\s*--.*$", "", self.text, flags=re.MULTILINE)
        return [part.strip() for part in plain.split(";\n") if part.strip()]

    def postgres_statements(self) -> list[str]:
        """Return the migration's SQL statements for PostgreSQL."""
        return [_for_postgres(statement) for statement in self.statements()]


def _for_postgres(statement: str) -> str:
    """Return a statement with SQLite's types and options replaced by PostgreSQL's."""
    typed = re.sub(r"\bINTEGER\b", "BIGINT", statement)
    collated = re.sub(r"\bTEXT\b", 'TEXT COLLATE "C"', typed)
    return re.sub(r"\)\s*STRICT(, WITHOUT ROWID)?;?$", ")", collated)


def _read_migration(path: Path) -> Migration:
    number, _, name = path.stem.partition("_")
    return Migration(number=int(number), name=name, text=path.read_text(encoding="utf-8"))


MIGRATIONS = tuple(_read_migration(path) for path in sorted(Path(__file__).parent.glob("[0-9]*.sql")))
