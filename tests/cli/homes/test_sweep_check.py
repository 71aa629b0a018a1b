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


COORDINATOR = "bbbbbbbb"
STATE = "projects/web/coord-state.json"


def write_state(line, content: bytes) -> None:
    with Fleet.open(str(line.home), actor="tester") as fleet:
        fleet.files.publish(STATE, content)


def seat_coordinator(line) -> None:
    with Fleet.open(str(line.home), actor="tester") as fleet:
        fleet.context.commit(
            Change("a coordinator", lambda tx: seats.take_seat(tx, "web", COORDINATOR, None, None) and None)
        )


@pytest.mark.req("SWEEP-2", "DER-3")
@pytest.mark.parametrize(
    "written", [None, b"{}", b'{"coordinator": "gone"}', b"no json"], ids=["no file", "empty", "a ghost", "unreadable"]
)
def test_a_coord_state_that_waits_for_the_next_tick_is_no_leak(either, written):
    seat_coordinator(either)
    if written is not None:
        write_state(either, written)
    said = either(*SWEEP, "--check")
    assert (said.code, STATE in said.out) == (0, True), said
    (found,) = either(*SWEEP, "--check", "--json").json
    assert (found["what"], found["waiting"], found["done"]) == (STATE, True, False)


@pytest.mark.req("SWEEP-2", "DER-2")
@pytest.mark.parametrize(
    ("written", "leaked"),
    [
        pytest.param(None, False, id="no file"),
        pytest.param(b"{}", False, id="nothing in it"),
        pytest.param(b'{"coordinator": null, "supervisor": {}}', False, id="nobody in it"),
        pytest.param(b'{"worker_agent_ids": {"t": "aaaaaaaa"}}', False, id="half of it"),
        pytest.param(b'{"worker_agent_ids": {"t": "cccccccc"}}', True, id="another agent"),
        pytest.param(b'{"worker_agent_ids": {"gone": "aaaaaaaa"}}', True, id="another task"),
        pytest.param(b'{"supervisor": {"t": {"agent_id": "aaaaaaaa", "kind": "fix"}}}', True, id="another kind"),
        pytest.param(b'{"coordinator": "bbbbbbbb"}', True, id="a coordinator"),
        pytest.param(b'{"of": "another time"}', True, id="another key"),
        pytest.param(b"no json", True, id="unreadable"),
    ],
)
def test_a_coord_state_without_coordinator_is_a_leak_when_it_names_what_is_gone_and_none_when_it_lacks_something(
    either, written, leaked
):
    either.add("t")
    either("claims", "acquire-prompt", "aaaaaaaa", "--owner", "t", stdin=b"the prompt\n").ok()
    if written is not None:
        write_state(either, written)
    said = either(*SWEEP, "--check", "--reconcile-derived")
    assert (said.code, STATE in said.out) == (14 if leaked else 0, True), said
    (found,) = either(*SWEEP, "--check", "--reconcile-derived", "--json").json
    assert (found["what"], found["waiting"], found["done"]) == (STATE, not leaked, False)
    (done,) = either(*SWEEP, "--kill", "--reconcile-derived", "--json").ok().json
    assert (done["waiting"], done["done"]) == (False, True)
    assert either(*SWEEP, "--check", "--reconcile-derived").ok().out == "nothing leaked\n"


@pytest.mark.req("SWEEP-2")
@pytest.mark.parametrize("word", ["--dry-run", "--check"])
def test_to_act_and_not_to_act_is_a_usage_error(either, word):
    either(*SWEEP, "--kill", word).refused(2, f"--kill acts, {word} does not")
