"""What the SQL compiler tells of a query's types, and what it says when it cannot tell."""

import pytest
from sqlcompiler.code import generated
from sqlcompiler.queries import Reader
from sqlcompiler.schema import literals, tables
from sqlcompiler.words import Unclear

from fleet.fast import sqlite as _sqlite3

STATES = {"Colour": frozenset({"red", "blue"})}
SCHEMA = (
    "CREATE TABLE cats (id TEXT PRIMARY KEY, age INTEGER NOT NULL, owner TEXT, tail INTEGER) STRICT",
    "ALTER TABLE cats ADD COLUMN colour TEXT NOT NULL DEFAULT 'red' CHECK (colour IN ('red', 'blue'))",
    "CREATE TABLE owners (name TEXT PRIMARY KEY, town TEXT NOT NULL) STRICT",
)


@pytest.fixture
def db():
    made = _sqlite3.connect(":memory:")
    for statement in SCHEMA:
        made.execute(statement)
    yield made
    made.close()


@pytest.fixture
def read(db, tmp_path):
    """Compile the text of a .sql file."""

    def act(text: str):
        file = tmp_path / "cats.sql"
        file.write_text(text)
        return Reader(db, tables(db, STATES), frozenset(STATES)).read(file)

    return act


@pytest.fixture
def shape(read):
    """The types of the columns of a SELECT."""

    def act(select: str, *comments: str) -> dict[str, str]:
        [query] = read("\n".join(["-- name: some", "-- returns: Some*", *comments, f"{select};\n"]))
        return {name: str(known) for name, known in query.shape.items()}

    return act


@pytest.fixture
def takes(read):
    """The types of the parameters of a statement."""

    def act(statement: str, *comments: str) -> dict[str, str]:
        says = ["-- returns: Some*"] if statement.startswith(("SELECT", "WITH")) else []
        [query] = read("\n".join(["-- name: some", *says, *comments, f"{statement};\n"]))
        return {name: str(known) for name, known in query.takes.items()}

    return act


def test_a_column_has_the_type_that_the_schema_declares(shape):
    whole = {"id": "str", "age": "int", "owner": "str | None", "tail": "int | None", "colour": "Colour"}
    assert shape("SELECT * FROM cats") == whole
    assert shape("SELECT c.* FROM cats c JOIN owners o ON o.name = c.owner") == whole
    assert shape("SELECT o.town, c.tail FROM cats c JOIN owners o ON o.name = c.owner") == {
        "town": "str",
        "tail": "int | None",
    }


def test_columns_behind_a_left_join_may_be_missing(shape):
    found = shape("SELECT c.id, o.town FROM cats c LEFT JOIN owners o ON o.name = c.owner")
    assert found == {"id": "str", "town": "str | None"}


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("COUNT(*)", "int"),
        ("MAX(age)", "int | None"),
        ("COALESCE(MAX(age), 0) + 1", "int"),
        ("SUM(CASE WHEN age > 3 THEN 1 ELSE 0 END)", "int | None"),
        ("CASE WHEN age > 3 THEN colour END", "Colour | None"),
        ("COALESCE(owner, '')", "str"),
        ("EXISTS (SELECT 1 FROM owners o WHERE o.name = cats.owner)", "int"),
        ("(SELECT town FROM owners o WHERE o.name = cats.owner)", "str | None"),
        ("(SELECT COUNT(*) FROM owners)", "int"),
        ("CAST(tail AS TEXT)", "str | None"),
        ("LOWER(id)", "str"),
        ("id || 'x'", "str"),
    ],
)
def test_the_type_of_a_plain_expression_is_told(shape, expression, expected):
    assert shape(f"SELECT {expression} AS made FROM cats") == {"made": expected}


def test_a_query_may_say_what_it_knows_better(shape):
    assert shape("SELECT owner FROM cats WHERE owner IS NOT NULL", "-- column: owner str") == {"owner": "str"}


def test_a_table_that_with_makes_is_known(shape):
    above = "WITH RECURSIVE above (who) AS (SELECT owner FROM cats UNION SELECT name FROM owners)"
    assert shape(f"{above} SELECT who FROM above") == {"who": "str | None"}


def test_parameters_have_the_type_of_the_column_they_are_written_into(takes):
    insert = "INSERT INTO cats (id, age, colour, owner, tail) VALUES (:id, :age, :colour, :owner, 3)"
    assert takes(insert) == {"id": "str", "age": "int", "colour": "Colour", "owner": "str | None"}
    update = (
        "UPDATE cats SET tail = :tail, age = age + :years, owner = COALESCE(CAST(:owner AS TEXT), owner) WHERE id = :id"
    )
    assert takes(update) == {"tail": "int | None", "years": "int", "owner": "str | None", "id": "str"}


def test_parameters_have_the_type_of_the_column_they_are_compared_with(takes):
    select = (
        "SELECT id FROM cats WHERE (CAST(:colour AS TEXT) IS NULL OR colour = :colour) AND tail <= :most LIMIT :count"
    )
    assert takes(select) == {"colour": "Colour | None", "most": "int", "count": "int"}
    assert takes("DELETE FROM cats WHERE owner IN (SELECT name FROM owners WHERE town = :town)") == {"town": "str"}
    assert takes("SELECT id FROM cats WHERE id LIKE :prefix OR :everything = 1") == {
        "prefix": "str",
        "everything": "int",
    }


def test_a_parameter_that_some_use_forbids_to_be_missing_is_required(takes):
    assert takes("UPDATE cats SET tail = :n, age = :n") == {"n": "int"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("SELECT id FROM cats", "cats.sql: some: what it returns is not understood"),
        ("-- returns: Some\nSELECT id FROM cats", "what it returns is not understood"),
        ("-- returns: Some*\nDELETE FROM cats", "what it returns is not understood"),
        ("-- returns: Some!\nSELECT id FROM cats", "it may have no row"),
        ("-- returns: Some*\nSELECT HEX(id) AS made FROM cats", "write `-- column: made int`"),
        ("-- returns: Some*\n-- column: x int\nSELECT id FROM cats", "it declares `column` for x"),
        ("-- returns: Some*\n-- column: id float\nSELECT id FROM cats", "`column: id float` is not understood"),
        ("-- returns: Some*\nSELECT id FROM cats WHERE HEX(id) = :x", "write `-- takes: x int`"),
        ("UPDATE cats SET age = :x WHERE colour = :x", "it is used as Colour and int"),
        ("-- takes: y int\nDELETE FROM cats", "it declares `takes` for y"),
        ("-- returns: Some*\nSELECT c.id, d.id FROM cats c JOIN cats d ON d.id = c.owner", "not recognised: id, id"),
    ],
)
def test_what_cannot_be_told_is_refused_with_what_to_write(read, text, says):
    with pytest.raises(Unclear) as refused:
        read(f"-- name: some\n{text};\n")
    assert says in str(refused.value)


def test_rows_of_one_name_have_one_shape(read):
    some = "-- name: {}\n-- returns: Cat*\nSELECT {} FROM cats;\n"
    with pytest.raises(Unclear, match="two: it returns Cat as one does, but they differ in age"):
        generated(read(some.format("one", "id") + some.format("two", "id, age")), frozenset({"cats"}))


def test_a_check_without_its_literal_is_refused(db):
    with pytest.raises(Unclear, match=r"cats\.colour: no Literal of model/states\.py has exactly the values"):
        tables(db, {"Colour": frozenset({"red"})})


def test_literals_are_read_from_a_module(tmp_path):
    file = tmp_path / "states.py"
    file.write_text('A = Literal["x", "y"]\nB = Literal["z"]\nC = 3\n')
    assert literals(file) == {"A": {"x", "y"}, "B": {"z"}}


def test_a_function_and_a_row_class_are_generated(read):
    texts = generated(
        read("-- name: one_cat\n-- returns: Cat?\nSELECT id, tail FROM cats WHERE id = :id;\n"), frozenset({"cats"})
    )
    assert "class Cat(Row):" in texts["cats"]
    assert "def one_cat(rows: Rows, /, *, id: str) -> Cat | None:" in texts["cats"]


def test_a_query_of_a_hot_command_has_its_row_in_its_own_module(read):
    some = "-- name: {}\n{}-- Cats.\n-- returns: Cat*\nSELECT id FROM cats;\n"
    texts = generated(read(some.format("one", "") + some.format("two", "-- module: hot\n")), frozenset({"cats"}))
    assert "class Cat(Row):" in texts["hot"]
    assert "def two(" in texts["hot"]
    assert '"""Cats."""' in texts["hot"]
    assert "from fleet.store.queries.hot import Cat\n" in texts["cats"]
    assert "class Cat" not in texts["cats"]
