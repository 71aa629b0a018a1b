"""A dispatch is found by id, unique prefix, slug or @last, on both stores. tests/live/dispatch/test_finding.py has the commands."""

import pytest
from contract.conftest import add_project
from contract.dispatch.journals import AT, begin

from fleet.errors.absent import NoSuchDispatch
from fleet.errors.given import Ambiguous
from fleet.verbs.dispatch.find import find

pytestmark = pytest.mark.req("CLI-1")


@pytest.fixture
def found(fleet):
    def look(text: str, *given: str, **here: str) -> str:
        return fleet.store.read(lambda rows: find(rows, text, *given, **here))

    return look


def test_an_id_a_unique_prefix_a_slug_and_the_last_one(fleet, found):
    begin(fleet, "abcd0001", "one", at=AT + 2)
    begin(fleet, "abcd0002", "two", at=AT)
    begin(fleet, "ef000003", "three", at=AT + 1)
    assert [found(text) for text in ("abcd0002", "ef", "three", "p/two", "@last")] == [
        "abcd0002",
        "ef000003",
        "ef000003",
        "abcd0002",
        "abcd0001",
    ]


def test_what_fits_several_is_refused_and_lists_them(fleet, found):
    begin(fleet, "abcd0001", "one")
    begin(fleet, "abcd0002", "two")
    with pytest.raises(Ambiguous) as refused:
        found("abcd")
    assert refused.value.code == 2
    assert all(ident in str(refused.value) for ident in ("abcd0001", "abcd0002"))
    with pytest.raises(NoSuchDispatch):
        found("a")  # one letter is no prefix: a slip of the finger would end somebody


def test_the_attempt_at_work_is_meant_before_those_that_ended_and_then_the_newest(fleet, found):
    begin(fleet, "00000001", "a", state="failed", at=AT)
    begin(fleet, "00000002", "a", at=AT + 1)
    begin(fleet, "00000003", "b", state="failed", at=AT + 3)
    begin(fleet, "00000004", "b", state="failed", at=AT + 2)
    assert (found("a"), found("b"), found("000000")) == ("00000002", "00000003", "00000002")


def test_a_slug_that_looks_like_a_prefix_is_a_slug(fleet, found):
    begin(fleet, "11111111", "add", state="failed")
    begin(fleet, "add00001", "other")
    assert (found("add"), found("add0")) == ("11111111", "add00001")
    fleet.tasks.add(project="p", title="ef", slug="ef")
    begin(fleet, "ef000001", "third")
    with pytest.raises(NoSuchDispatch):
        found("ef")  # a task without an attempt, and not the agent whose id begins so


def test_a_slug_of_two_projects_means_the_one_that_is_named_or_here(fleet, found):
    add_project(fleet, "q")
    begin(fleet, "00000001", "a")
    begin(fleet, "00000002", "a", project="q")
    assert (found("q/a"), found("a", "p"), found("a", here="q")) == ("00000002", "00000001", "00000002")
    with pytest.raises(Ambiguous):
        found("a")
