"""Every state and every event of every table, driven through the code on a store: the code takes exactly the steps of its table."""

import itertools
import json
import time
from types import SimpleNamespace

import pytest
from contract.bench import ID, NEW, OLD, P

from fleet.model.dispatch import claim_steps, seat_steps
from fleet.model.dispatch import steps as dispatches
from fleet.model.dispatch.claim import Claim
from fleet.model.dispatch.settling import Outcome
from fleet.model.jobs import items as jobs
from fleet.model.tasks import steps as tasks
from fleet.store import bundles, seats
from fleet.store import queries as q
from fleet.store import tasks as task_store
from fleet.verbs.coord.handoffs import handoff, progress
from fleet.verbs.dispatch import acquire, dispatch, launch, reclaim, settle
from fleet.verbs.homes.disown import disown_claim
from fleet.verbs.jobs import records
from fleet.verbs.tasks import claim, reopen, report, review


def test_tasks(table):
    def put(status):
        assignee = "NULL" if status == "open" else "'tester'"
        archived = f"archived = 0, merged = NULL, stage = '{'fix' if status == 'blocked' else 'worker'}'"
        table.do(f"UPDATE tasks SET status = '{status}', assignee = {assignee}, {archived} WHERE slug = 'a'")

    def agent(resumes):
        order = SimpleNamespace(**P, kind="fix", dispatch=NEW)
        limits = SimpleNamespace(limits_agents=9, limits_project_agents=9)
        wanted = SimpleNamespace(resumes=resumes, predecessor="tester")
        table.tx(lambda tx: dispatch._claim_task(tx, order, "a", limits, wanted))

    def settled(status):
        row = SimpleNamespace(
            **P, id="tester", kind="worker", exec_state="in_flight", handoffs=0, asked_for=None, resumes=None
        )
        found = Outcome(exec_state=status, reason="so")
        table.tx(lambda tx: settle.settle_task(tx, row, found, (3, 1000, None), None))

    def parked():
        was = table.one("SELECT status FROM tasks WHERE slug = 'a'")["status"]
        table.tx(lambda tx: task_store.park(tx, **P, was=was, stage="fix", reason="so", message="so"))

    def judged(verdict):
        table.do("UPDATE tasks SET stage = 'review' WHERE slug = 'a'")
        table.fleet.commit(review.record_verdict(**P, verdict=verdict, comments=f"{time.monotonic_ns()}"))

    job = SimpleNamespace(id="j", project="p")
    table.do("UPDATE tasks SET job = 'j' WHERE slug = 'a'")
    drivers = {
        "claim": lambda: table.fleet.commit(claim.claim(**P)),
        "unclaim": lambda: table.fleet.commit(claim.unclaim(**P, override=True)),
        "done": lambda: table.fleet.commit(report.done(**P, override=True)),
        "fail": lambda: table.fleet.commit(report.fail(**P, reason="so", override=True)),
        "block": lambda: table.fleet.commit(report.block(**P, reason="so", override=True)),
        "abandon": lambda: table.fleet.commit(report.abandon(**P, reason="so", override=True)),
        "retry": lambda: table.fleet.commit(reopen.retry(**P)),
        "go_on/claim": lambda: agent(None),
        "resume/claim/go_on": lambda: agent("again"),
        "accept": lambda: judged("accept"),
        "send_back": lambda: judged("send back"),
        "park": parked,
        "merge": lambda: table.tx(lambda tx: task_store.merge(tx, "p", "a", "c0ffee")),
        "item_started": lambda: table.tx(
            lambda tx: q.open_job_task(tx, **P, job="j", after=tasks.STEPS["done", "item_started"], at=1)
        ),
        **{
            f"item_{status}": lambda status=status: table.fleet.commit(records.close_task(job, "a", status, None))
            for status in ("done", "failed", "abandoned")
        },
    }
    now = lambda: table.one("SELECT status FROM tasks WHERE slug = 'a'")["status"]  # noqa: E731
    assert {name.split("/")[0] for name in drivers} == {*tasks.EVENTS, *tasks.OWN_EVENTS}
    table.compare(tasks.STEPS, tasks.STATUSES, drivers, put=put, now=now)
    # A settled attempt moves only a task that is in progress with it.
    only_in_progress = {key: after for key, after in tasks.STEPS.items() if key[0] == "in_progress"}
    ends = {"fail": lambda: settled("failed"), "block": lambda: settled("blocked"), "go_on": lambda: settled("done")}
    table.compare(only_in_progress, tasks.STATUSES, ends, put=put, now=now)


@pytest.mark.req("STORE-4")
def test_dispatches_go_pending_in_flight_and_then_end(table):
    table.add_dispatch()
    row = lambda: table.fleet.store.read(lambda rows: q.dispatch_by_id(rows, id=ID))  # noqa: E731
    context = SimpleNamespace(
        settings=lambda _project=None: SimpleNamespace(spawn_cooldown="1m", review="none", limits_failed_spawns=3)
    )

    def ended(state):
        table.fleet.commit(settle._record_end(row(), Outcome(exec_state=state, reason="so"), None, context, None))

    drivers = {
        "launched": lambda: table.fleet.commit(launch._record_launch(row(), "me", ("hash", "0" * 64), {})),
        "settled_done": lambda: ended("done"),
        "settled_blocked": lambda: ended("blocked"),
        "settled_failed": lambda: ended("failed"),
    }
    assert set(drivers) == set(dispatches.EXEC_EVENTS)

    def put(state):
        table.do(f"UPDATE dispatches SET exec_state = '{state}', process = NULL, launched_at = NULL WHERE id = '{ID}'")

    table.compare(dispatches.EXEC_STEPS, dispatches.EXEC_STATES, drivers, put=put, now=lambda: row().exec_state)


@pytest.mark.req("STORE-5")
def test_reclamation_follows_from_the_claims_and_ends_only_in_complete(table):
    table.add_dispatch()
    table.do(f"UPDATE dispatches SET exec_state = 'failed' WHERE id = '{ID}'")

    def judged(state, *, bundle=False):
        table.do("DELETE FROM claims", "DELETE FROM bundles")
        if state:
            add_claim(table, state)
        if bundle:
            table.do(f"INSERT INTO bundles (project, slug, host, owner, generation) VALUES ('p', 'a', 'h', '{ID}', 1)")
            add_claim(table, "live", bundle=True)
        table.fleet.commit(reclaim._update_recl_state(ID))

    drivers = {
        "all_released": lambda: judged("released"),
        "bundle_left": lambda: judged(None, bundle=True),
        "release_failed": lambda: judged("releasing"),
        "release_blocked": lambda: judged("releasing_blocked"),
    }
    assert set(drivers) == set(dispatches.RECL_EVENTS)
    put = lambda state: table.do(f"UPDATE dispatches SET recl_state = '{state}' WHERE id = '{ID}'")  # noqa: E731
    now = lambda: table.one(f"SELECT recl_state FROM dispatches WHERE id = '{ID}'")["recl_state"]  # noqa: E731
    table.compare(dispatches.RECL_STEPS, dispatches.RECL_STATES, drivers, put=put, now=now)


def add_claim(table, state: str, *, bundle: bool = False) -> None:
    whose = "NULL, 'p', 'a'" if bundle else f"'{ID}', NULL, NULL"
    columns = "id, dispatch, project, slug, host, kind, name, state, actor, created_at, updated_at"
    kind = "worktree" if bundle else "tmux_session"
    table.do(f"INSERT INTO claims ({columns}) VALUES ('c', {whose}, 'h', '{kind}', 'n', '{state}', 'x', 1, 1)")


@pytest.mark.req("STORE-6")
def test_claims(table):
    table.add_dispatch()
    read = lambda: Claim.of(table.fleet.store.read(lambda rows: q.claim_by_id(rows, id="c")))  # noqa: E731
    me = SimpleNamespace(processes=SimpleNamespace(me=lambda: "me"))
    step = lambda event: table.fleet.commit(acquire.step_claim(read(), event))  # noqa: E731

    def failed(failures):
        table.do(f"UPDATE claims SET data = '{json.dumps({'failed': [2**50] * failures})}'")
        table.fleet.commit(acquire._record_failed_release(read()))

    def adopted(look):
        wanted = Claim(id="d", kind="worktree", name="n", host="h", project="p", slug="a")
        existing = read()
        table.tx(lambda tx: bundles.adopt(tx, wanted, existing, bundles.SeenResource(free=True, look=look)))

    drivers = {
        "made": lambda: table.tx(lambda tx: launch._record_made_claims(tx, SimpleNamespace(**P, id=ID))),
        "let_go": lambda: table.fleet.commit(acquire._begin_release(SimpleNamespace(world=me), read())),
        "not_gone": lambda: failed(0),
        "stuck": lambda: failed(acquire.TRIES),
        **{event: lambda event=event: step(event) for event in ("not_made", "found_absent", "found_gone", "gone")},
        "given_up": lambda: disown_claim(table.fleet.context, ID, "tmux_session", "so"),
    }
    now = lambda: table.one("SELECT state FROM claims WHERE id = 'c'")["state"]  # noqa: E731

    def put(state, *, bundle=False):
        table.do("DELETE FROM claims")
        add_claim(table, state, bundle=bundle)

    table.compare(claim_steps.STEPS, claim_steps.STATES, drivers, put=put, now=now)
    # A successor adopts what is there: it goes on with what was being made, takes over what was being released, else makes it anew.
    of_bundle = [state for state in claim_steps.STATES if state not in {"released", "live"}]
    adopt = {"retaken/taken_over": lambda: adopted("ours"), "retaken/gone/found_absent": lambda: adopted("absent")}
    table.compare(claim_steps.STEPS, of_bundle, adopt, put=lambda state: put(state, bundle=True), now=now)
    known = {name for each in (*drivers, *adopt) for name in each.split("/")}
    assert known == set(claim_steps.EVENTS)


def test_seats(table):
    for ident in (OLD, NEW):
        table.add_dispatch(ident, kind="coord", slug=None)
    table.do(
        f"UPDATE dispatches SET exec_state = 'failed' WHERE id = '{OLD}'",
        f"UPDATE dispatches SET exec_state = 'in_flight' WHERE id = '{NEW}'",
        f"INSERT INTO nonces (dispatch, project, hash, minted_at) VALUES ('{NEW}', 'p', 'hash', 1)",
        "INSERT INTO seats (project) VALUES ('p')",
    )
    seat = lambda: table.fleet.store.read(lambda rows: seats.seat(rows, "p"))  # noqa: E731

    def put(state):
        holder = f"'{OLD}'" if state.startswith("held") else "NULL"
        candidate = f"'{NEW}'" if state.endswith("candidate") else "NULL"
        table.do(f"UPDATE seats SET holder = {holder}, candidate = {candidate}", "UPDATE nonces SET spent_at = NULL")

    drivers = {
        "take": lambda: table.tx(lambda tx: seats.take_seat(tx, "p", NEW, None, None)),
        "nominate": lambda: table.tx(lambda tx: seats.take_seat(tx, "p", NEW, seats.seat(tx, "p").holder, 30.0)),
        "prove": lambda: table.tx(lambda tx: seats.prove_candidate(tx, "p", NEW, "hash")),
        "withdraw": lambda: table.tx(lambda tx: seats.withdraw_candidate(tx, "p", NEW)),
        "vacate": lambda: table.tx(lambda tx: seats.vacate_seat(tx, "p", OLD)),
    }
    assert set(drivers) == set(seat_steps.EVENTS)
    table.compare(seat_steps.STEPS, seat_steps.STATES, drivers, put=put, now=lambda: seat_steps.seat_state(seat()))


def test_handoffs(table, monkeypatch):
    table.add_dispatch()
    table.do(
        f"INSERT INTO handoffs (id, dispatch, project, slug, reason, document, asked_by, at) VALUES ('0000000d', '{ID}', 'p', 'a', 'so', 'd', 'x', 1)",
        f"UPDATE tasks SET status = 'in_progress', assignee = '{ID}' WHERE slug = 'a'",
    )
    monkeypatch.setattr(handoff, "reclaim", lambda *_given: [])
    context = SimpleNamespace(commit=table.fleet.commit)
    entry = lambda: table.fleet.store.read(lambda rows: q.handoff_by_id(rows, id="0000000d"))  # noqa: E731
    row = lambda: table.fleet.store.read(lambda rows: q.dispatch_by_id(rows, id=ID))  # noqa: E731
    nothing = progress.HandoffProgress(fingerprint=None, fruitless=3)
    drivers = {
        "hand_on": lambda: handoff._end_entry(context, entry(), "hand_on", NEW),
        "drop": lambda: handoff._end_entry(context, entry(), "drop", None),
        "park": lambda: table.fleet.commit(progress._park_task(entry(), row(), "a", nothing)),
    }
    assert set(drivers) == set(dispatches.HANDOFF_EVENTS)

    def put(state):
        table.do(f"UPDATE handoffs SET state = '{state}'", "UPDATE tasks SET status = 'in_progress' WHERE slug = 'a'")

    table.compare(dispatches.HANDOFF_STEPS, dispatches.HANDOFF_STATES, drivers, put=put, now=lambda: entry().state)


def test_the_tables_speak_only_of_states_and_events_that_exist():
    for steps, states, events in (
        (tasks.STEPS, tasks.STATUSES, (*tasks.EVENTS, *tasks.OWN_EVENTS)),
        (dispatches.EXEC_STEPS, dispatches.EXEC_STATES, dispatches.EXEC_EVENTS),
        (dispatches.RECL_STEPS, dispatches.RECL_STATES, dispatches.RECL_EVENTS),
        (claim_steps.STEPS, claim_steps.STATES, claim_steps.EVENTS),
        (seat_steps.STEPS, seat_steps.STATES, seat_steps.EVENTS),
        (jobs.STEPS, jobs.STATES, jobs.EVENTS),
        (jobs.JOB_STEPS, jobs.JOB_STATES, jobs.JOB_EVENTS),
        (jobs.PHASE_STEPS, jobs.PHASES, jobs.PHASE_EVENTS),
        (dispatches.HANDOFF_STEPS, dispatches.HANDOFF_STATES, dispatches.HANDOFF_EVENTS),
    ):
        assert {state for state, _ in steps} | set(steps.values()) <= set(states)
        assert {event for _, event in steps} == set(events)


@pytest.mark.req("STORE-4", "STORE-5", "STORE-6")
def test_the_tables_have_the_steps_that_the_requirements_name_and_no_others():
    def moves(table, *left_out: str) -> set[tuple[str, str]]:
        return {(state, after) for (state, event), after in table.items() if after != state and event not in left_out}

    assert moves(dispatches.EXEC_STEPS) == {
        ("pending", "in_flight"),
        ("pending", "failed"),
        ("in_flight", "done"),
        ("in_flight", "blocked"),
        ("in_flight", "failed"),
    }
    trouble = set(itertools.product(("pending", "partial", "blocked"), dispatches.RECL_STATES))
    assert moves(dispatches.RECL_STEPS) == {pair for pair in trouble if pair[0] != pair[1]}, "complete is the end"
    assert moves(claim_steps.STEPS, "given_up") == {
        ("allocating", "live"),
        ("allocating", "failed_alloc"),
        ("failed_alloc", "live"),  # made after its maker had stopped waiting
        ("failed_alloc", "released"),
        ("live", "releasing"),
        ("live", "released"),
        ("releasing", "released"),
        ("releasing", "releasing_blocked"),
        ("releasing", "live"),
        ("releasing_blocked", "releasing"),
        ("releasing_blocked", "released"),
        ("releasing_blocked", "live"),
    }
    given_up = {state: after for (state, event), after in claim_steps.STEPS.items() if event == "given_up"}
    assert given_up == {state: "released" for state in claim_steps.STATES if state != "released"}
