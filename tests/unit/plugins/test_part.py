"""Which tests with agents a whole run takes on PostgreSQL."""

from plugins.part import Candidate, taken


def candidate(file: str, number: int, *rows: str) -> Candidate:
    return Candidate(f"tests/live/{file}.py::test_{number}[postgres]", frozenset(rows))


MANY = [candidate(file, number, "A-1") for file in "abc" for number in range(9)]


def test_a_third_of_each_file_is_taken_and_the_seed_decides_which():
    parts = [taken(MANY, set(), str(seed)) for seed in range(20)]
    assert {sum(ident.startswith(f"tests/live/{file}.") for ident in part) for part in parts for file in "abc"} == {3}
    assert set.union(*parts) == {test.ident for test in MANY}
    assert taken(list(reversed(MANY)), set(), "7") == parts[7]


def test_every_row_is_shown():
    rare = [candidate("a", 100 + number, f"B-{number}") for number in range(8)]
    for seed in range(20):
        part = taken([*MANY, *rare], set(), str(seed))
        assert {row for test in [*MANY, *rare] if test.ident in part for row in test.rows} == {
            "A-1",
            *(f"B-{number}" for number in range(8)),
        }


def test_a_row_that_another_test_shows_needs_none():
    tests = [candidate("a", 1, "A-1"), candidate("a", 2, "B-1")]
    assert {len(taken(tests, {"A-1", "B-1"}, str(seed))) for seed in range(20)} == {1}
