"""A class name that is given twice is counted, and the count only falls."""

import ast

import class_names
import pytest


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("class Outcome: ...", ["Outcome"]),
        ("if TYPE_CHECKING:\n    class Seat(Protocol): ...\n    Look = Literal['ours', 'absent']", ["Seat", "Look"]),
        ("Life = str | None\nMOST = 3\nGROUPS = {}\n_SENT = A | B", ["Life"]),
        ("def f():\n    class Inner: ...", []),
    ],
)
def test_classes_and_types_of_a_module_are_found_and_constants_are_not(text, names):
    assert list(class_names.named(ast.parse(text))) == names


@pytest.mark.parametrize(
    ("counts", "known", "lowest", "said"),
    [
        ({"Look": 2}, {"Look": 2, "total": 2}, 2, []),
        ({"Look": 2}, {"total": 0}, None, ["2 classes or types are named Look, 0 are recorded"]),
        ({}, {"Look": 2, "total": 2}, 2, ["0 classes or types are named Look, 2 are recorded"]),
        (
            {"Look": 3},
            {"Look": 3, "total": 3},
            2,
            ["the total is 3, and was 2 once: give the new class a name of its own"],
        ),
        ({"Look": 2}, {"Look": 2, "total": 3}, None, ["the total is 2, and 3 is recorded"]),
    ],
)
def test_a_new_second_meaning_is_a_fault_and_the_total_never_rises(counts, known, lowest, said):
    assert class_names.faults_of(counts, known, lowest) == said
