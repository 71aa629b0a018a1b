"""Every query on the migrated schema of each store: what it takes and returns is what its function and its row say."""

import re
from pathlib import Path

import psycopg
import pytest

import fleet.store
from fleet.store import queries as q
from fleet.store.row import Query

NAMES = sorted(name.lower() for names in q._MODULES.values() for name in names.split() if name.isupper())
NUMBERS = {psycopg.postgres.types[name].oid for name in ("int4", "int8", "bool")}
TEXT = {psycopg.postgres.types["text"].oid}
SQL = "".join(path.read_text() for path in Path(fleet.store.__file__).parent.glob("sql/**/*.sql"))
REQUIRED = """SELECT attnotnull FROM pg_attribute WHERE attrelid = %s AND attnum = %s"""


def query_of(name: str) -> Query:
    return getattr(q, name.upper())


def annotations(name: str) -> dict[str, str]:
    """The types of the parameters."""
    return {
        key: known for key, known in getattr(q, name).__annotations__.items() if key not in {"rows", "tx", "return"}
    }


def columns(name: str) -> dict[str, str]:
    """The types of the columns."""
    return {key: known for key, known in query_of(name).row.__init__.__annotations__.items() if key != "return"}


def sample(known: str, *, missing: bool) -> object:
    if missing and known.endswith("None"):
        return None
    return 0 if known.startswith("int") else ""


def try_out(store, name: str, *, missing: bool):
    """Run it on empty tables; of one that writes only the plan is made."""
    query = query_of(name)
    text = query.sqlite if store.kind == "sqlite" else query.postgres
    values = {key: sample(known, missing=missing) for key, known in annotations(name).items()}
    return store._db.execute(text if query.row else f"EXPLAIN {text}", values)


@pytest.mark.parametrize("missing", [False, True], ids=["all values given", "what may be missing is missing"])
def test_every_query_takes_what_its_function_takes(store, missing):
    for name in NAMES:
        try_out(store, name, missing=missing)


def test_every_query_returns_the_columns_of_its_row(store):
    for name in NAMES:
        if query_of(name).row:
            found = try_out(store, name, missing=False).description
            assert [column[0] for column in found] == list(columns(name)) == list(query_of(name).row.__slots__), name


def blocks() -> dict[str, str]:
    return {block.split("\n")[0]: block for block in re.split(r"^-- name: ", SQL, flags=re.MULTILINE)[1:]}


@pytest.mark.parametrize("store_url_kind", ["postgres"], indirect=True)
def test_every_column_has_the_type_that_postgresql_gives_it(store):
    """But for the columns whose type the query says itself, and those that a left join may leave out."""
    faults = []
    for name, block in blocks().items():
        if query_of(name).row is None:
            continue
        result = try_out(store, name, missing=False).pgresult
        for number, (column, known) in enumerate(columns(name).items()):
            if result.ftype(number) not in (NUMBERS if known.startswith("int") else TEXT):
                faults.append(f"{name}.{column} is {known}, not the type {result.ftype(number)}")
            place = result.ftable(number), result.ftablecol(number)
            required = [sure for (sure,) in store._db.execute(REQUIRED, place).fetchall()]
            free = f"-- column: {column} " in block or ("LEFT JOIN " in block and known.endswith("None"))
            if required and not free and required[0] == known.endswith("None"):
                faults.append(f"{name}.{column} is {known}")
    assert faults == []
