"""What the database itself refuses, whatever the code above it does."""

import pytest

from fleet.errors.store import InvariantBroken
from fleet.model.agents.actors import Caller
from fleet.model.dispatch.claim_steps import HELD, STATES
from fleet.store import queries as q
from fleet.store.row import Query

AT = 1_700_000_000_000


def do(store, *statements: str) -> None:
    def work(tx):
        for sql in statements:
            tx.write(Query("raw", sql, sql), {})
        return {}

    store.transact(" ".join(statements)[:80], work, Caller(actor="t", at=AT, key=f"k{hash(statements)}"))


@pytest.fixture
def journal(fleet):
    """Two tasks, and a pending dispatch of the first."""
    fleet.tasks.add(project="p", title="A", slug="a")
    fleet.tasks.add(project="p", title="B", slug="b")
    add_dispatch(fleet.store, "00000001", slug="a")
    return fleet.store


def add_dispatch(store, ident: str, *, kind: str = "worker", slug: str | None = "a") -> int:
    def work(tx):
        q.reserve_id(tx, id=ident, at=AT)
        made = q.add_dispatch(tx, id=ident, kind=kind, project="p", slug=slug, owner="project/p/slug/a", host="h", home=None,
            tmux_socket="/s", at=AT, predecessor=None, engine="shell", autonomy=None, model=None, command=None, base=None,
            spawner="", server=None,
        )  # fmt: skip
        return {"made": made}

    return store.transact(f"dispatch {ident}", work, Caller(actor="t", at=AT, key=f"d{ident}"))["made"]


def claim_sql(ident: str, *, state: str = "allocating", name: str = "fleet-1") -> str:
    columns = "id, dispatch, host, kind, name, state, actor, created_at, updated_at"
    return f"INSERT INTO claims ({columns}) VALUES ('{ident}', '00000001', 'h', 'tmux_session', '{name}', '{state}', 'x', 1, 1)"


@pytest.mark.req("STORE-11")
def test_a_second_unfinished_dispatch_of_one_task_is_impossible(journal):
    assert add_dispatch(journal, "00000002", slug="a") == 0
    with pytest.raises(InvariantBroken):
        do(
            journal,
            "INSERT INTO ids (id, at) VALUES ('00000003', 1)",
            "INSERT INTO dispatches (id, kind, project, slug, owner, host, tmux_socket, created_at, updated_at) "
            "VALUES ('00000003', 'worker', 'p', 'a', 'o', 'h', 's', 1, 1)",
        )
    assert add_dispatch(journal, "00000004", slug="b") == 1


@pytest.mark.req("STORE-11")
def test_a_finished_dispatch_makes_room_for_the_next(journal):
    do(journal, "UPDATE dispatches SET exec_state = 'failed' WHERE id = '00000001'")
    assert add_dispatch(journal, "00000002", slug="a") == 1


@pytest.mark.req("STORE-11")
@pytest.mark.parametrize("first", STATES)
@pytest.mark.parametrize("second", STATES)
def test_a_second_holder_of_one_thing_is_impossible(journal, first, second):
    do(journal, claim_sql("c1", state=first))
    if first in HELD and second in HELD:
        with pytest.raises(InvariantBroken):
            do(journal, claim_sql("c2", state=second))
    else:
        do(journal, claim_sql("c2", state=second))
        assert len(journal.read(lambda rows: q.claims_of_dispatch(rows, dispatch="00000001"))) == 2


@pytest.mark.req("STORE-11")
def test_a_second_seat_of_a_project_is_impossible(journal):
    do(journal, "INSERT INTO seats (project) VALUES ('p')")
    with pytest.raises(InvariantBroken):
        do(journal, "INSERT INTO seats (project, holder) VALUES ('p', '00000001')")


@pytest.mark.req("STORE-1")
def test_an_id_is_given_out_once_for_all_time(journal):
    do(journal, "DELETE FROM dispatches WHERE id = '00000001'")

    def reserve(tx):
        return {"new": q.reserve_id(tx, id="00000001", at=AT)}

    assert journal.transact("reserve again", reserve, Caller(actor="t", at=AT, key="again")) == {"new": 0}


@pytest.mark.req("STORE-3")
def test_a_dispatch_carries_its_journal(journal):
    row = journal.read(lambda rows: q.dispatch_by_id(rows, id="00000001"))
    assert row is not None
    known = {
        "id": "00000001", "kind": "worker", "owner": "project/p/slug/a", "host": "h", "tmux_socket": "/s", "schema": 1,
        "created_at": AT, "updated_at": AT, "exec_state": "pending", "recl_state": "pending", "report": None,
        "blocked_reason": None, "predecessor": None,
    }  # fmt: skip
    assert known.items() <= row.as_json().items()


@pytest.mark.req("STORE-11")
@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE tasks SET status = 'sleeping' WHERE slug = 'a'",
        "UPDATE tasks SET status = 'in_progress', assignee = NULL WHERE slug = 'a'",
        "UPDATE tasks SET archived = 1 WHERE slug = 'a'",
        "UPDATE tasks SET open_blockers = -1 WHERE slug = 'a'",
        "UPDATE dispatches SET exec_state = 'lost'",
        "UPDATE dispatches SET recl_state = 'complete'",
        "UPDATE dispatches SET kind = 'coord'",
        "INSERT INTO edges (project, slug, needs) VALUES ('p', 'a', 'nowhere')",
        "DELETE FROM projects",
        "INSERT INTO writer (id) VALUES (2)",
    ],
)
def test_the_database_refuses_what_cannot_be(journal, sql):
    with pytest.raises(InvariantBroken):
        do(journal, sql)
