"""`sweep-leaks --check` tells a test run by its exit code whether anything leaked; neither it nor a dry run touches anything."""

import pytest

from fleet.api.fleet import Fleet
from fleet.store import seats
from fleet.store.transaction import Change

SWEEP = ("maintenance", "sweep-leaks")


@pytest.mark.req("SWEEP-2")
@pytest.mark.parametrize("words", [("--check",), ("--dry-run", "--check"), ("--dry-run",), ()])
def test_with_nothing_to_find_every_form_ends_with_zero(fleet, words):
    assert fleet(*SWEEP, *words).ok().out == "nothing leaked\n"


@pytest.mark.req("SWEEP-2", "SWEEP-3")
def test_a_finding_is_fourteen_with_check_and_zero_without_and_stays_where_it_is(either):
    (either.home / "inbox").mkdir()
    left = either.home / "inbox" / "3f2a9c01.md"
    left.write_text("whose is it?")
    for words, code in ((("--check",), 14), (("--dry-run", "--check"), 14), (("--dry-run",), 0), ((), 0)):
        said = either(*SWEEP, *words)
        assert (said.code, said.err) == (code, ""), said
        assert "inbox/3f2a9c01.md" in said.out
        assert [each["done"] for each in either(*SWEEP, *words, "--json").json] == [False]
        assert either(*SWEEP, *words, "--json").code == code
    assert left.read_text() == "whose is it?"


@pytest.mark.req("SWEEP-2", "DER-3")
def test_a_coord_state_that_waits_for_the_next_tick_is_no_leak_and_one_that_nobody_rewrites_is(either):
    with Fleet.open(str(either.home), actor="tester") as fleet:
        fleet.context.commit(
            Change("a coordinator", lambda tx: seats.take_seat(tx, "web", "bbbbbbbb", None, None) and None)
        )
    said = either(*SWEEP, "--check")
    assert (said.code, "coord-state.json" in said.out) == (0, True), said
    (found,) = either(*SWEEP, "--check", "--json").json
    assert (found["what"], found["waiting"], found["done"]) == ("projects/web/coord-state.json", True, False)
    with Fleet.open(str(either.home), actor="tester") as fleet:
        fleet.files.publish("projects/web/coord-state.json", b"{}")
        fleet.context.commit(Change("nobody", lambda tx: seats.vacate_seat(tx, "web", "bbbbbbbb") and None))
    assert either(*SWEEP, "--check").code == 14
    assert [each["waiting"] for each in either(*SWEEP, "--check", "--json").json] == [False]
    assert [each["done"] for each in either(*SWEEP, "--kill", "--json").ok().json] == [True]
    assert either(*SWEEP, "--check").ok().out == "nothing leaked\n"


@pytest.mark.req("SWEEP-2")
@pytest.mark.parametrize("word", ["--dry-run", "--check"])
def test_to_act_and_not_to_act_is_a_usage_error(either, word):
    either(*SWEEP, "--kill", word).refused(2, f"--kill acts, {word} does not")
