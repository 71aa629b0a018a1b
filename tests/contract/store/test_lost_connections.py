"""A connection to the server can break at any moment: what was committed is known, and the next request goes on."""

import contextlib
import os
import socket
import threading
import time

import psycopg
import pytest
from contract.conftest import caller

from fleet.errors.store import OutcomeUnknown, StoreUnreachable
from fleet.store import queries as q

pytestmark = pytest.mark.parametrize("store_url_kind", ["postgres"])

SLOW_COMMIT = """
CREATE FUNCTION fleet.wait_for_the_test() RETURNS trigger LANGUAGE plpgsql SET lock_timeout = 0 AS
$$ BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON fleet.operations DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW EXECUTE FUNCTION fleet.wait_for_the_test();
"""
BACKENDS = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
WAITS = "SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = %s"
PATIENCE = 60


@pytest.fixture
def server(postgres_url):
    """Somebody at the same database who is not fleet."""
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        yield connection


def add_tag(tx):
    return {"n": q.add_tag(tx, project="p", slug="t", tag="a")}


def cut(store) -> None:
    """The network goes; neither side has said goodbye, and the server has not noticed."""
    with socket.socket(fileno=os.dup(store._db.fileno())) as line:
        line.shutdown(socket.SHUT_RDWR)


def end_all(server) -> None:
    """The server ends every connection, and has done so when this returns."""
    for (pid,) in server.execute(BACKENDS).fetchall():
        server.execute("SELECT pg_terminate_backend(%s, 60000)", (pid,))


def until(holds) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.002)


@contextlib.contextmanager
def cut_in_mid_commit(server, store, *, lands: bool):
    """Cut the connection while it commits; the commit lands, if it does, only when somebody asks what became of it."""
    server.execute(SLOW_COMMIT)
    server.execute("SELECT pg_advisory_lock(1)")
    over = threading.Event()

    def waits(kind: str) -> bool:
        return over.is_set() or server.execute(WAITS, (kind,)).fetchone()[0] > 0

    def act() -> None:
        until(lambda: waits("advisory"))
        cut(store)
        until(lambda: waits("relation"))
        if lands:
            server.execute("SELECT pg_advisory_unlock(1)")

    other = threading.Thread(target=act)
    other.start()
    try:
        yield
    finally:
        over.set()
        other.join(PATIENCE)
        server.execute("SELECT pg_advisory_unlock_all()")


@pytest.mark.req("STORE-16")
def test_a_commit_that_lands_after_the_connection_broke_is_answered_as_done(fleet, store, server):
    fleet.tasks.add(project="p", title="T", slug="t")
    with cut_in_mid_commit(server, store, lands=True):
        assert store.transact("tag it", add_tag, caller("k1")) == {"n": 1}
    assert fleet.tasks.show(project="p", slug="t").tags == ["a"]


@pytest.mark.req("STORE-16")
def test_a_commit_whose_outcome_cannot_be_learned_is_said_to_be_unknown_and_is_repeated_by_its_key(
    fleet, store, server, monkeypatch
):
    fleet.tasks.add(project="p", title="T", slug="t")
    monkeypatch.setattr(store, "_wait", 0.05)
    with cut_in_mid_commit(server, store, lands=False), pytest.raises(OutcomeUnknown) as caught:
        store.transact("tag it", add_tag, caller("k1"))
    assert "whether it was done is not known" in str(caught.value)
    assert "--key k1" in caught.value.next_step
    monkeypatch.setattr(store, "_wait", 60.0)
    assert store.transact("tag it", add_tag, caller("k1")) == {"n": 1}
    done = store.read(lambda rows: q.operations_after(rows, after=0, until=1 << 60, most=1 << 60))
    assert [each.why for each in done].count("tag it") == 1


def test_a_lost_connection_is_made_anew_for_whoever_reads(fleet, server):
    end_all(server)
    assert [each.name for each in fleet.projects.list()] == ["p"]


def test_a_lost_connection_is_made_anew_for_whoever_writes(fleet, server):
    end_all(server)
    fleet.tasks.add(project="p", title="T", slug="t")
    assert fleet.tasks.show(project="p", slug="t").title == "T"


def test_a_connection_that_the_server_ends_in_mid_transaction_changes_nothing_and_the_next_one_goes_on(
    fleet, store, server
):
    fleet.tasks.add(project="p", title="T", slug="t")

    def work(tx):
        end_all(server)
        return add_tag(tx)

    with pytest.raises(StoreUnreachable):
        store.transact("tag it", work, caller("k1"))
    assert fleet.tasks.show(project="p", slug="t").tags == []
    assert store.transact("tag it", add_tag, caller("k1")) == {"n": 1}


def test_a_transaction_that_was_idle_for_too_long_is_a_lost_connection(fleet, store, server):
    def work(tx):
        tx._db.execute("SET LOCAL idle_in_transaction_session_timeout = 1")
        mine = tx._db.info.backend_pid
        until(lambda: (mine,) not in server.execute(BACKENDS).fetchall())
        return add_tag(tx)

    with pytest.raises(StoreUnreachable):
        store.transact("tag it", work, caller("k1"))
    fleet.tasks.add(project="p", title="T", slug="t")
