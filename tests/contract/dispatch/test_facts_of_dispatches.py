"""From rows, ages and lives to the classes of facts that decide: every combination, at each side of every limit."""

import itertools
from types import SimpleNamespace
from typing import get_args

import pytest

from fleet.model.dispatch.remedies import Condition, Remains, ReportAge, SeatPlace, Seen, report_age
from fleet.model.states import assert_never
from fleet.model.text.times import MINUTE, SECOND
from fleet.verbs.dispatch import facts

GRACE, NOW = 30 * SECOND, 1_000_000_000
# An age at each side of its limit; below 0 the clock was set back.
AGES = (-1, 0, GRACE - 1, GRACE, GRACE + 1)


@pytest.fixture
def context():
    """A context whose graces are known, and a clock that stands still."""
    return SimpleNamespace(
        settings=lambda: SimpleNamespace(exit_grace="30s", report_grace="30s"),
        world=SimpleNamespace(clock=SimpleNamespace(now=lambda: NOW), host=SimpleNamespace(machine_id="m")),
    )


def dispatch(**more):
    known = {
        "id": "00000001", "kind": "worker", "project": "p", "slug": "a", "engine": "shell", "exec_state": "in_flight",
        "process": None, "server": None, "blocked_reason": None, "report": None, "reported_at": None, "asked_for": None,
        "asked_at": None, "asked_reason": None, "created_at": NOW,
    }  # fmt: skip
    return SimpleNamespace(**{**known, **more})


@pytest.mark.parametrize("age", [None, *AGES])
def test_the_grace_after_a_request_is_over_at_its_end_and_when_the_clock_was_set_back(context, age):
    row = dispatch(asked_at=None if age is None else NOW - age)
    assert facts._is_exit_grace_over(context, row, NOW) == (age in {-1, GRACE, GRACE + 1})


@pytest.mark.parametrize("age", AGES)
def test_the_grace_after_a_report_is_over_at_its_end_or_when_the_turn_of_the_report_is(context, monkeypatch, age):
    heard_at = (None, age + SECOND + 1, age + SECOND, age, 0)
    found = set()
    for report, state, since in itertools.product((None, "done", "failed"), ("idle", "busy"), heard_at):
        heard = None if since is None else SimpleNamespace(state=state, state_at=NOW - since)
        monkeypatch.setattr(facts.q, "heard_agent", lambda _rows, *, dispatch, heard=heard: heard)  # noqa: ARG005
        row = dispatch(report=report, reported_at=NOW - age if report else None)
        at_rest = since is not None and state == "idle" and since <= age + SECOND
        expected = "none" if report is None else "over" if at_rest or age >= GRACE else "fresh"
        assert facts._report_condition(context, None, row, NOW) == expected
        assert report_age(report=report, age=age, grace=GRACE, at_rest=at_rest) == expected
        found.add(expected)
    assert found <= set(get_args(ReportAge))


def test_a_place_in_the_seat_follows_from_the_seat_the_nonce_and_the_deadline(context, monkeypatch):
    found = set()
    seats = itertools.product((None, "00000001", "0000000a"), (None, "00000001", "0000000b"), (-1, 0, 1))
    nonces = (None, SimpleNamespace(spent_at=None), SimpleNamespace(spent_at=1))
    made = (NOW, NOW + MINUTE + 1)  # the second: the clock was set back since the start
    for (holder, candidate, left), nonce, engine, created_at in itertools.product(seats, nonces, (None, "fleet"), made):
        seat = SimpleNamespace(holder=holder, candidate=candidate, deadline=NOW + left)
        monkeypatch.setattr(facts.seats, "seat", lambda _rows, _project, seat=seat: seat)
        monkeypatch.setattr(facts.q, "nonce_of", lambda _rows, *, dispatch, nonce=nonce: nonce)  # noqa: ARG005
        row = dispatch(kind="coord", engine=engine, created_at=created_at)
        place = facts._place_in_seat(context, None, row)
        found.add(place)
        assert (place == "holder") == (holder == row.id)
        assert (place in {"candidate", "late"}) == (candidate == row.id != holder)
        assert place != "late" or left <= 0 or created_at > NOW
        assert place != "candidate" or (left > 0 and created_at == NOW)
        assert place != "withdrawn" or (nonce is not None and nonce.spent_at is None)
    assert found == set(get_args(SeatPlace))


def expected_condition(state: str, foreign: str, starting: str, life: str) -> Condition:
    """The condition that follows from the state of a row, whose it is, why it may start, and its process's life."""
    if state not in {"pending", "in_flight"}:
        return "ended"
    if foreign:
        return "unknown"
    if state == "pending":
        return "starting" if starting else "unstarted"
    return life


def test_the_condition_follows_from_the_row_its_home_and_the_life_of_its_process(context, monkeypatch):
    found = set()
    monkeypatch.setattr(facts, "disown_hint", lambda ident: f"disown {ident}")
    monkeypatch.setattr(facts, "_look_at_dead", lambda _context, _row, kind, *_more: Seen(condition="dead", kind=kind))
    states = ("pending", "in_flight", "done", "blocked", "failed")
    for state, foreign, starting, life, kind in itertools.product(
        states, ("", "of another home"), ("", "its session is starting"), ("alive", "dead", "unknown"), ("worker", "coord", "finisher", "fix")
    ):  # fmt: skip
        context.world.processes = SimpleNamespace(life=lambda _who, life=life: life)
        context.world.tmux = SimpleNamespace(listing=lambda: None)
        monkeypatch.setattr(facts, "why_foreign", lambda _context, _row, foreign=foreign: foreign)
        monkeypatch.setattr(facts, "is_own", lambda _context, _row, foreign=foreign: not foreign)
        monkeypatch.setattr(facts, "_why_starting", lambda *_given, starting=starting: starting)
        monkeypatch.setattr(facts, "_why_carried", lambda *_given: "")
        monkeypatch.setattr(facts, "_why_unknown", lambda *_given: "")
        seen = facts.facts_about_end(context, dispatch(exec_state=state, kind=kind))
        assert seen.condition == expected_condition(state, foreign, starting, life)
        assert seen.is_of_this_home == (not foreign)
        assert seen.kind == (kind if kind in {"coord", "finisher"} else "worker")
        assert seen.is_daemon_duty == (kind == "coord" and seen.condition in {"alive", "unknown"} and not foreign)
        assert bool(seen.why) == (seen.condition not in {"unstarted", "dead"})
        found.add(seen.condition)
    assert found == set(get_args(Condition))


def remains_of(case: Remains) -> SimpleNamespace:
    """What the census finds of a dead agent."""
    left = {"ours": [], "strangers": [], "bearers": [], "unreadable": []}
    match case:
        case "ours":
            left |= {"ours": [SimpleNamespace(pid=5)], "strangers": [6]}
        case "strangers":
            left |= {"strangers": [6]}
        case "silent" | "none":
            pass
        case _:
            assert_never(case)
    return SimpleNamespace(**left)


@pytest.mark.parametrize("case", get_args(Remains))
def test_what_a_dead_agent_left_is_its_own_before_a_strangers_and_its_server_is_silent_last(context, monkeypatch, case):
    answers = case != "silent"
    monkeypatch.setattr(facts.leftover_processes, "find_remains", lambda *_given: remains_of(case))
    monkeypatch.setattr(facts.leftover_processes, "describe_processes", lambda *_given: "process 6")
    context.world.tmux = SimpleNamespace(listing=lambda: SimpleNamespace(server="living" if answers else None))
    context.world.processes = SimpleNamespace(life=lambda _who: "alive")
    monkeypatch.setattr(facts.Identity, "parse", lambda _text: "a server")
    seen = facts._look_at_dead(context, dispatch(), "worker", None, None)
    assert (seen.condition, seen.remains) == ("dead", case)
    assert bool(seen.why) == (case != "none")
