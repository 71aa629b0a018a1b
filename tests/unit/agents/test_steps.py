"""Every pair of state and event, for every table of steps."""

import itertools

import pytest

from fleet.errors.given import BadId, BadName
from fleet.errors.refused import IllegalStep
from fleet.model import names
from fleet.model.dispatch import claim_steps
from fleet.model.dispatch import steps as dispatches
from fleet.model.tasks import steps as tasks

LEGAL_TASK_STEPS = {
    "open": {"claim": "in_progress", "done": "done", "fail": "failed", "block": "blocked", "abandon": "abandoned"},
    "in_progress": {"unclaim": "open", "done": "done", "fail": "failed", "block": "blocked", "abandon": "abandoned"},
    "blocked": {"retry": "open", "done": "done", "fail": "failed", "abandon": "abandoned"},
    "failed": {"retry": "open", "done": "done", "abandon": "abandoned"},
    "done": {"retry": "open"},
    "abandoned": {"retry": "open"},
}


@pytest.mark.parametrize(("status", "event"), list(itertools.product(tasks.STATUSES, tasks.EVENTS)))
def test_a_task_takes_only_legal_steps(status, event):
    expected = LEGAL_TASK_STEPS[status].get(event)
    if expected is None:
        with pytest.raises(IllegalStep):
            tasks.step("p", "t", status, event)
    else:
        assert tasks.step("p", "t", status, event) == expected


@pytest.mark.parametrize(("before", "after"), list(itertools.product(tasks.STATUSES, tasks.STATUSES)))
def test_blockers_change_only_when_a_dependency_becomes_satisfied_or_stops_being_so(before, after):
    change = tasks.blockers_change(before, after)
    assert change == (before in {"done", "abandoned"}) - (after in {"done", "abandoned"})


@pytest.mark.req("STORE-4")
@pytest.mark.parametrize(("state", "event"), list(itertools.product(dispatches.EXEC_STATES, dispatches.EXEC_EVENTS)))
def test_exec_state_goes_pending_in_flight_and_then_ends(state, event):
    legal = {
        "pending": {"launched": "in_flight", "settled_failed": "failed"},
        "in_flight": {"settled_done": "done", "settled_blocked": "blocked", "settled_failed": "failed"},
    }
    assert dispatches.EXEC_STEPS.get((state, event)) == legal.get(state, {}).get(event)


@pytest.mark.req("STORE-5")
@pytest.mark.parametrize(("state", "event"), list(itertools.product(dispatches.RECL_STATES, dispatches.RECL_EVENTS)))
def test_reclamation_ends_only_in_complete(state, event):
    after = {"all_released": "complete", "release_failed": "partial", "release_blocked": "blocked"}[event]
    assert dispatches.RECL_STEPS.get((state, event)) == (None if state == "complete" else after)


@pytest.mark.req("STORE-6")
@pytest.mark.parametrize(("state", "event"), list(itertools.product(claim_steps.STATES, claim_steps.EVENTS)))
def test_a_claim_takes_only_the_steps_of_the_table(state, event):
    legal = {
        "allocating": {"made": "live", "not_made": "failed_alloc"},
        "failed_alloc": {"found_absent": "released"},
        "live": {"let_go": "releasing", "found_gone": "released"},
        "releasing": {"gone": "released", "stuck": "releasing_blocked", "taken_over": "live"},
        "releasing_blocked": {"try_again": "releasing", "taken_over": "live"},
        "released": {},
    }
    assert claim_steps.STEPS.get((state, event)) == legal[state].get(event)


def test_the_tables_speak_only_of_states_and_events_that_exist():
    for steps, states, events in (
        (tasks.STEPS, tasks.STATUSES, tasks.EVENTS),
        (dispatches.EXEC_STEPS, dispatches.EXEC_STATES, dispatches.EXEC_EVENTS),
        (dispatches.RECL_STEPS, dispatches.RECL_STATES, dispatches.RECL_EVENTS),
        (claim_steps.STEPS, claim_steps.STATES, claim_steps.EVENTS),
    ):
        assert {state for state, _ in steps} | set(steps.values()) <= set(states)
        assert {event for _, event in steps} == set(events)


@pytest.mark.req("STORE-1")
@pytest.mark.parametrize(
    "given", ["", "0000000", "000000001", "0000000G", "ABCDEF01", "3f2a 901", "../../aa", "3f2a9c0\n"]
)
def test_anything_but_eight_lower_case_hex_digits_is_no_dispatch_id(given):
    with pytest.raises(BadId) as caught:
        names.DispatchId(given)
    assert "8 lower-case hexadecimal digits" in caught.value.next_step


@pytest.mark.req("STORE-1")
def test_a_dispatch_id_is_a_type_of_its_own():
    assert isinstance(names.DispatchId("3f2a9c01"), names.DispatchId)
    assert names.DispatchId("3f2a9c01") == "3f2a9c01"


@pytest.mark.parametrize(
    "given", ["", "../x", "a/b", "-x", ".x", "a..b", "x.lock", "x.", "A", "é", "a b", "a\n", "x" * 81]
)
def test_a_slug_cannot_smuggle_a_path_a_flag_or_a_ref(given):
    with pytest.raises(BadName):
        names.slug(given)


def test_nobody_can_act_under_a_name_that_looks_like_a_dispatch():
    with pytest.raises(BadName):
        names.actor("3f2a9c01")
