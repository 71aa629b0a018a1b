"""Limits: one failure holds the engine back for the whole fleet; failed turns are continued, a bounded number of times."""

import json

import pytest
from staging.speaking import agent, hook, known, messages_of, scripted
from staging.stage import FLEET, answer, raw

from fleet.errors.refused import EngineHeld
from fleet.model.text.times import utc
from fleet.store import queries as q
from fleet.testing.crash.scenarios import until
from fleet.verbs.dispatch.plan import Wanted


def start(fleet, slug):
    if not fleet.graph.slugs(project="p", prefix=slug):
        fleet.tasks.add(project="p", title=slug, slug=slug, description="hang\n")
    return fleet.dispatches.start(Wanted(project="p", slug=slug, engine="scripted")).id


def held(fleet):
    return {each.engine: each for each in fleet.engines.limits().holds}


@pytest.mark.req("LIMIT-1")
def test_a_limit_parks_its_agent_and_refuses_new_ones_until_the_reset(either):
    with either.fleet() as fleet:
        ident = scripted(either, fleet, "limit 3600", "hang")
        until(lambda: "scripted" in held(fleet))
        found = agent(fleet, ident)
        assert (found.state, found.source, found.detail) == ("limit", "hook", "You've hit your session limit")
        one = held(fleet)["scripted"]
        assert (one.kind, one.trial, one.until > one.since) == ("limit", None, True)
        with pytest.raises(EngineHeld, match="session limit"):
            start(fleet, "other")
        assert fleet.tasks.show(project="p", slug="other").status == "open", "and it is not counted as a failed start"
        said = either.program("dispatch", "other", "-p", "p", "--engine", "scripted")
        assert (said.code, utc(one.until) in said.err) == (14, True), said
        assert either.dispatch(fleet, "third", "sleep", "1000"), "another engine is free"
        assert "is held back until" in either.program("limits", "list").out
        assert "session limit" in either.program("status").out


@pytest.mark.req("LIMIT-1")
def test_after_the_reset_one_tries_and_the_others_follow_when_its_model_has_answered(either):
    with either.fleet() as fleet:
        scripted(either, fleet, "limit 3600", "hang")
        until(lambda: "scripted" in held(fleet))
        raw(fleet, f"UPDATE holds SET since = {fleet.clock.now() - 9_000}, until = {fleet.clock.now() - 1_000}")
        raw(fleet, "UPDATE quotas SET resets_at = 0")
        for slug in ("a", "b", "c"):
            fleet.tasks.add(project="p", title=slug, slug=slug, description="hang\n")
        children = [
            either.start(FLEET, "dispatch", slug, "-p", "p", "--engine", "scripted") for slug in ("a", "b", "c")
        ]
        said = [answer(child) for child in children]
        assert sorted(each.code for each in said) == [0, 14, 14], said
        assert all("tries whether it is over" in each.err for each in said if each.code)
        trial = held(fleet)["scripted"].trial
        either.launched(fleet, trial)
        hook(either, trial, "SessionStart")
        assert "scripted" in held(fleet), "a session that has begun is no answer of a model"
        hook(either, trial, "PostToolUse", tool_name="Bash", tool_input={})
        assert held(fleet) == {}
        start(fleet, "d")


@pytest.mark.req("LIMIT-1")
def test_a_trial_that_hits_the_limit_again_holds_it_anew_and_a_minute_in_flight_is_enough(either):
    with either.fleet() as fleet:
        scripted(either, fleet, "limit 3600", "hang")
        until(lambda: "scripted" in held(fleet))
        now = fleet.clock.now()
        raw(fleet, "UPDATE quotas SET resets_at = 0")
        raw(fleet, f"UPDATE holds SET since = {now - 9_000}, until = {now - 1_000}")
        trial = start(fleet, "a")
        either.launched(fleet, trial)
        hook(either, trial, "StopFailure", error="rate_limit", last_assistant_message="limit · resets 11:59pm (UTC)")
        again = held(fleet)["scripted"]
        assert (again.trial, again.until.endswith("T23:59:00.000Z")) == (None, True)
        raw(fleet, f"UPDATE holds SET until = {now - 1_000}, trial = '{trial}', tried_at = {now - 61_000}")
        raw(fleet, f"UPDATE dispatches SET launched_at = {now - 90_000} WHERE id = '{trial}'")
        start(fleet, "b")
        assert held(fleet) == {}


@pytest.mark.req("LIMIT-1")
def test_a_parked_agent_is_continued_after_the_reset(either):
    with either.fleet() as fleet:
        ident = scripted(either, fleet, "limit 3600", "idle", "hang")
        either.shows(fleet, ident, "[scripted] idle")
        until(lambda: agent(fleet, ident).state == "limit")
        fleet.agents.tend("p")
        assert messages_of(fleet, ident) == [], "not before"
        raw(fleet, f"UPDATE holds SET since = {fleet.clock.now() - 9_000}, until = {fleet.clock.now() - 1_000}")
        fleet.agents.tend("p")
        fleet.agents.tend("p")
        either.shows(fleet, ident, "The usage limit has been reset")
        either.shows(fleet, ident, "typed:")
        assert held(fleet)["scripted"].trial == ident
        assert fleet.agents.screen(ident, history=True).count("typed:") == 1


@pytest.mark.req("LIMIT-1")
def test_near_the_end_of_a_window_nothing_new_is_started(either):
    with either.fleet() as fleet:
        ident = scripted(either, fleet, "hang")
        reset = fleet.clock.now() // 1_000 + 3_600
        window = {"five_hour": {"used_percentage": 89.6, "resets_at": reset}}
        hook(either, ident, "fleet-status", rate_limits=window)
        start(fleet, "a")
        window["seven_day"] = {"used_percentage": 90, "resets_at": reset}
        hook(either, ident, "fleet-status", rate_limits=window)
        with pytest.raises(EngineHeld, match="90 % of its window seven_day"):
            start(fleet, "b")
        quotas = {each.span: each.percent for each in fleet.engines.limits().quotas}
        assert quotas == {"five_hour": 89, "seven_day": 90}
        raw(fleet, f"UPDATE quotas SET resets_at = {fleet.clock.now() - 1}")
        start(fleet, "b")


@pytest.mark.req("ENG-7", "LIMIT-1")
@pytest.mark.parametrize("error", ["authentication_failed", "billing_error"])
def test_a_login_or_a_bill_needs_the_person_and_holds_the_engine_back(either, error):
    with either.fleet() as fleet:
        ident = scripted(either, fleet, "hang")
        hook(either, ident, "StopFailure", error=error, last_assistant_message="Please run /login")
        found = agent(fleet, ident)
        assert (found.state, found.detail) == ("login", f"{error}: Please run /login")
        with pytest.raises(EngineHeld) as refused:
            start(fleet, "a")
        assert "fleet limits lift scripted" in refused.value.next_step
        fleet.agents.tend("p")
        assert messages_of(fleet, ident) == []
        lifted = json.loads(either.program("limits", "lift", "scripted", "--json").out)
        assert (lifted["lifted"], lifted["continued"], lifted["waiting"]) == (True, [ident], [])
        with pytest.raises(EngineHeld) as refused:
            start(fleet, "a")
        assert f"{ident} tries whether it is over" in refused.value.next_step
        hook(either, ident, "UserPromptSubmit", prompt="The login works again")
        hook(either, ident, "PostToolUse", tool_name="Bash", tool_input={})
        start(fleet, "a")


@pytest.mark.req("ENG-7")
def test_a_turn_that_goes_well_begins_the_count_anew(either):
    with either.fleet() as fleet:
        ident = scripted(either, fleet, "overloaded", "hang")
        until(lambda: known(fleet, ident).failed_turns == 1)
        hook(either, ident, "PostToolUse", tool_name="Bash", tool_input={})
        assert (known(fleet, ident).failed_turns, known(fleet, ident).state) == (0, "working")


@pytest.mark.req("LIMIT-1")
def test_a_limit_that_names_no_time_holds_for_a_few_minutes(scene):
    with scene.fleet() as fleet:
        ident = scripted(scene, fleet, "hang")
        hook(scene, ident, "StopFailure", error="rate_limit", last_assistant_message="API Error: 429")
        row = fleet.store.read(lambda rows: q.hold_of(rows, engine="scripted"))
        assert row.until - row.since == 5 * 60_000


@pytest.mark.req("LIMIT-1")
@pytest.mark.parametrize("order", ["the window first", "the limit first"])
@pytest.mark.parametrize(("reset", "over"), [(3_600, False), (-2, True)], ids=["later", "past by now"])
def test_a_limit_is_reset_when_its_window_is_whichever_is_told_first(either, order, reset, over):
    with either.fleet() as fleet:
        ident = scripted(either, fleet, "hang")
        at = fleet.clock.now() // 1_000 + reset
        full = {"five_hour": {"used_percentage": 100, "resets_at": at}}
        told = [("fleet-status", {"rate_limits": full}), ("StopFailure", {"error": "rate_limit"})]
        for event, facts in told if order == "the window first" else reversed(told):
            hook(either, ident, event, **facts)
        row = fleet.store.read(lambda rows: q.hold_of(rows, engine="scripted"))
        assert (row.until <= fleet.clock.now()) == over
        assert over or row.until == at * 1_000
