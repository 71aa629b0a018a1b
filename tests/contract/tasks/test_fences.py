"""A step's own statement compares the state that it was decided on: whoever decided on an old state changes nothing."""

import itertools

import pytest
from contract.conftest import caller
from staging.raw import select

from fleet.model.dispatch.claim_steps import STATES
from fleet.model.dispatch.steps import EXEC_STATES, RECL_STATES
from fleet.store import queries as q
from fleet.store.row import Query

ID = "00000001"
END = {"exit_status": None, "reason": None, "work": None, "report": None, "asked_for": None}
OF_DISPATCH = {
    "launch_dispatch": lambda tx, before: q.launch_dispatch(
        tx, id=ID, before=before, after="in_flight", process="me", at=2
    ),
    "end_dispatch": lambda tx, before: q.end_dispatch(tx, id=ID, before=before, after="failed", at=2, **END),
}
OF_CLAIM = {
    "step_claim": lambda tx, before: q.step_claim(tx, id="c", before=before, after="released", at=2),
    "let_go_claim": lambda tx, before: q.let_go_claim(
        tx, id="c", before=before, after="releasing", was="x", owner=ID, actor="me", at=2
    ),
    "retake_claim": lambda tx, before: q.retake_claim(
        tx, id="c", before=before, after="allocating", was="x", actor="me", data="{}", at=2
    ),
    "fail_release": lambda tx, before: q.fail_release(tx, id="c", before=before, after="releasing_blocked", at=2),
    "fail_making": lambda tx, before: q.fail_making(tx, id="c", before=before, after="failed_alloc", at=2),
}
DISPATCH = {"exec_state": "pending", "recl_state": "pending", "report": None, "asked_for": None, "updated_at": 1}
CLAIM = {"state": "live", "actor": "x", "updated_at": 1}
MOVED, REFUSED = (1, True), (0, False)


@pytest.fixture
def attempt(fleet):
    """A dispatch with a claim, and a way to try steps on them, all in one transaction.

    Each case is the columns of the row as they are now, and the step. Each answer is how many rows the step says that it
    changed, and whether the row is another one then.
    """
    fleet.tasks.add(project="p", title="A", slug="a")

    def work(tx, table, usual, cases):
        write(tx, f"INSERT INTO ids (id, at) VALUES ('{ID}', 1)")
        columns = "id, kind, project, slug, owner, host, tmux_socket, created_at, updated_at"
        write(tx, f"INSERT INTO dispatches ({columns}) VALUES ('{ID}', 'worker', 'p', 'a', 'o', 'h', 's', 1, 1)")
        columns = "id, dispatch, host, kind, name, actor, created_at, updated_at"
        write(tx, f"INSERT INTO claims ({columns}) VALUES ('c', '{ID}', 'h', 'tmux_session', 'n', 'x', 1, 1)")
        return [tried(tx, table, {**usual, **now}, step) for now, step in cases]

    def run(table: str, usual: dict, *cases) -> list[tuple[int, bool]]:
        found = []
        fleet.store.transact("try", lambda tx: found.extend(work(tx, table, usual, cases)), caller("try"))
        return found

    return run


def write(tx, sql: str) -> None:
    tx.write(Query("raw", sql, sql), {})


def tried(tx, table: str, now: dict, step) -> tuple[int, bool]:
    values = (f"{name} = {'NULL' if value is None else repr(value)}" for name, value in now.items())
    write(tx, f"UPDATE {table} SET {', '.join(values)}")
    before = select(tx, f"SELECT * FROM {table}")
    return step(tx), select(tx, f"SELECT * FROM {table}") != before


def crossed(column: str, states, steps) -> tuple[list, list]:
    """Return each step tried from each state, seen as each state, and what is due: moved only where both are the same."""
    cases, due = [], []
    for now, seen, step in itertools.product(states, states, steps):
        cases.append(({column: now}, lambda tx, seen=seen, step=step: step(tx, seen)))
        due.append(MOVED if now == seen else REFUSED)
    return cases, due


@pytest.mark.req("STORE-4")
def test_a_dispatch_is_not_stepped_when_it_is_not_any_more_what_was_seen(attempt):
    cases, due = crossed("exec_state", EXEC_STATES, OF_DISPATCH.values())
    launch = lambda tx: OF_DISPATCH["launch_dispatch"](tx, "pending")  # noqa: E731
    end = lambda tx: OF_DISPATCH["end_dispatch"](tx, "pending")  # noqa: E731
    later = [({"asked_for": "stop"}, launch), ({"asked_for": "stop"}, end), ({"report": "done"}, end)]
    assert attempt("dispatches", DISPATCH, *cases, *later) == [*due, REFUSED, REFUSED, REFUSED]


@pytest.mark.req("STORE-5", "STORE-8")
def test_a_reclamation_is_not_stepped_from_another_state_and_no_rows_go_before_it_is_complete(attempt):
    ended = {**DISPATCH, "exec_state": "failed"}
    step = lambda tx, seen: q.step_recl(tx, id=ID, before=seen, after="complete", at=2)  # noqa: E731
    cases, due = crossed("recl_state", RECL_STATES, [step])
    going = [
        ({"recl_state": state}, lambda tx: q.forget_dispatch(tx, id=ID)) for state in ("pending", "partial", "blocked")
    ]
    assert attempt("dispatches", ended, *cases, *going) == [*due, REFUSED, REFUSED, REFUSED]


@pytest.mark.req("STORE-6")
def test_a_claim_is_not_stepped_when_it_is_not_any_more_what_was_seen(attempt):
    """In another state, worked on by another process, or handed over to another dispatch."""
    cases, due = crossed("state", STATES, OF_CLAIM.values())
    taken = [
        ({"actor": "somebody"}, lambda tx, name=name: OF_CLAIM[name](tx, "live"))
        for name in ("let_go_claim", "retake_claim")
    ]

    def old_owner(tx):
        return q.let_go_claim(tx, id="c", before="live", after="releasing", was="x", owner="", actor="me", at=2)

    found = attempt("claims", CLAIM, *cases, *taken, ({}, old_owner))
    assert found == [*due, REFUSED, REFUSED, REFUSED]
