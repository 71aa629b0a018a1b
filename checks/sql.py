"""Compile the named queries of store/sql/**/*.sql into the modules of store/queries/.

python checks/sql.py            write the modules
python checks/sql.py --check    fail when the modules do not match the .sql files
"""

from __future__ import annotations

import sys
from pathlib import Path

from sqlcompiler.code import generated
from sqlcompiler.queries import Reader
from sqlcompiler.schema import literals, migrated, tables
from sqlcompiler.words import Unclear

SOURCE = Path(__file__).parent.parent / "src" / "fleet"
TARGET = SOURCE / "store" / "queries"


def compiled() -> dict[Path, str]:
    """Return the text of each generated module by its path."""
    db = migrated()
    states = literals(SOURCE / "model" / "states.py")
    known = tables(db, states)
    reader = Reader(db, known, frozenset(states))
    files = sorted((SOURCE / "store" / "sql").rglob("*.sql"), key=lambda file: file.name)
    queries = [query for file in files for query in reader.read(file)]
    return {TARGET / f"{name}.py": text for name, text in generated(queries, frozenset(known)).items()}


def write(texts: dict[Path, str]) -> None:
    """Write the generated modules, and delete modules that are no longer generated."""
    TARGET.mkdir(exist_ok=True)
    for path in set(TARGET.glob("*.py")) - set(texts):
        path.unlink()
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")


def main() -> int:
    """Write the modules, or with --check compare them; return the exit code."""
    try:
        texts = compiled()
    except Unclear as why:
        print(why)
        return 1
    if "--check" not in sys.argv:
        write(texts)
        return 0
    there = {path: path.read_text(encoding="utf-8") for path in TARGET.glob("*.py")}
    if there != texts:
        print("store/queries/ does not match store/sql/: run `make sql`")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
