"""Compile the named queries of store/sql/*.sql into store/queries.py.

python checks/sql.py            write the module
python checks/sql.py --check    fail when the module is not what the files say
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

STORE = Path(__file__).parent.parent / "src" / "fleet" / "store"
HEAD = '''"""The named queries of sql/, compiled by `make sql`. Do not edit."""

from __future__ import annotations

from fleet.store.query import Query
'''


def queries(text: str) -> list[tuple[str, str, str]]:
    """Name, description and statement of each query in a file."""
    found = []
    for block in re.split(r"^-- name: ", text, flags=re.MULTILINE)[1:]:
        name, *lines = block.splitlines()
        described = [line[3:] for line in lines if line.startswith("-- ")]
        statement = " ".join(line.strip() for line in lines if not line.startswith("--")).strip().rstrip(";")
        found.append((name.strip(), " ".join(described), re.sub(r"\s+", " ", statement)))
    return found


def for_postgres(statement: str) -> str:
    """The same statement with psycopg's placeholders."""
    return re.sub(r"(?<!:):([a-z_]+)", r"%(\1)s", statement.replace("%", "%%"))


def compiled() -> str:
    """The text of the module."""
    parts = [HEAD]
    for file in sorted((STORE / "sql").glob("*.sql")):
        for name, description, statement in queries(file.read_text()):
            comment = f"# {description}\n" if description else ""
            texts = f"    {name!r},\n    {statement!r},\n    {for_postgres(statement)!r},\n"
            parts.append(f"{comment}{name.upper()} = Query(\n{texts})\n")
    return "\n".join(parts)


def main() -> int:
    """Write or check."""
    target = STORE / "queries.py"
    if "--check" not in sys.argv:
        target.write_text(compiled())
        return 0
    if target.read_text() != compiled():
        print("store/queries.py is not what store/sql/ says: run `make sql`")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
