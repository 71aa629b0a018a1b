"""What `make conformance` says of tests that try a part of what they could try, and of tests that run on one store."""

import json

import conformance
import pytest
from plugins import samples

DUE = {"A-1": "both", "A-2": "any"}


def told(
    store: str, ran: int, of: int | None, *rows: str, what: str = "deaths", test: str = "tests/crash/t.py::t"
) -> dict:
    return {"test": test, "rows": rows, "store": store, "samples": [{"what": what, "ran": ran, "of": of}]}


@pytest.fixture
def outcomes(tmp_path):
    def write(*tests: dict):
        path = tmp_path / "outcomes.json"
        path.write_text(json.dumps(tests))
        return path

    return write


def test_the_parts_of_each_store_are_printed_with_their_rows(outcomes, capsys):
    path = outcomes(
        told("sqlite", 3, 45, "A-1"),
        told("postgres", 1, 37, "A-1"),
        told("any", 1, None, "A-2", what="double deaths"),
        {"test": "tests/unit/t.py::t", "rows": ["A-3"], "store": "any"},
    )
    found = conformance.read_samples(path)
    conformance.print_samples(found)
    said = capsys.readouterr().out
    assert "postgres 1 of 37 (3 %), sqlite 3 of 45 (7 %)" in said
    assert "any 1 of many" in said
    assert [conformance.part_of(row, found) for row in ("A-1", "A-2", "A-3")] == ["5 %", "some", ""]


def test_tests_that_draw_from_the_same_whole_add_up(outcomes):
    found = conformance.read_samples(outcomes(*(told("any", 1, 400, "A-1") for _ in range(8))))
    assert str(found["deaths"]["any"]) == "8 of 400 (2 %)"


@pytest.mark.parametrize("wholes", [(400, None), (None, 400), (None, 400, 500)])
def test_a_whole_that_one_test_does_not_know_stays_unknown(outcomes, wholes):
    found = conformance.read_samples(outcomes(*(told("any", 1, of, "A-1") for of in wholes)))
    assert str(found["deaths"]["any"]) == f"{len(wholes)} of many"
    assert conformance.part_of("A-1", found) == "some"


def test_a_part_is_never_rounded_to_nothing():
    assert conformance.share(1, 10_000) == "1 %"


def test_a_test_of_both_stores_that_runs_on_one_is_counted_once_in_its_folder(outcomes, capsys):
    tests = [
        {"test": f"tests/live/a.py::t[{number}]", "rows": ["A-1"], "store": "any", "outcome": "passed"}
        for number in range(3)
    ]
    path = outcomes(
        *tests, {**tests[0], "test": "tests/live/b.py::t", "store": "sqlite"}, {**tests[0], "rows": ["A-2"]}
    )
    counts = conformance.tests_on_one_store(path, DUE)
    assert counts == {"live": 1}
    conformance.print_tests_on_one_store(counts)
    assert "1 in tests/live: tmux, git and processes are tested" in capsys.readouterr().out


def test_a_test_says_of_itself_what_it_tried(request):
    samples.sampled("numbers", ran=1, of=3)
    assert request.node.user_properties.pop() == ("sample", {"what": "numbers", "ran": 1, "of": 3})
