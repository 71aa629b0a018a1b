"""`fleet limits`: what is held back, what is tried again, and what a person allows beyond a budget."""

import pytest

ABSENT = 11
BAD_INPUT = 2


def test_an_engine_that_is_not_there_cannot_be_tried_again_and_the_nearest_is_named(fleet):
    before = fleet.everything()
    fleet("limits", "lift", "clade").refused(ABSENT, "there is no engine 'clade' (did you mean 'claude'?)")
    assert fleet.everything() == before, "nothing is written about an engine that is not there"
    assert fleet("limits", "lift", "claude").ok().out == "claude is not held back\n"
    assert fleet("limits", "list").ok().out == "no engine is held back\n"


@pytest.mark.parametrize("dollars", ["nan", "inf", "0", "0.001", "1000001", "1e300"])
def test_an_amount_that_would_be_shown_as_nothing_or_is_beyond_all_budgets_is_refused(fleet, dollars):
    before = fleet.everything()
    fleet("limits", "allow", dollars, "--today").refused(BAD_INPUT, "say an amount from 0.01 to 1000000")
    assert fleet.everything() == before


def test_what_is_allowed_is_said_with_what_it_is_for(fleet):
    fleet.add("parser")
    for words, which in ((["parser"], "task web/parser"), ([], "project web"), (["--today"], "day ")):
        assert fleet("limits", "allow", "0.5", *words).ok().out.startswith(f"$0.50 more is allowed for {which}")
    fleet("limits", "allow", "5", "nosuch").refused(ABSENT, "'nosuch'")
    fleet("limits", "allow", "5", "parser", "--today").refused(BAD_INPUT, "give neither a task nor a project with it")
