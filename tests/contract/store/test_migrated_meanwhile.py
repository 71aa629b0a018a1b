"""A database is migrated while others have it open: none of their changes is lost, and none is made after it."""

import threading

import psycopg
import pytest
from contract.conftest import caller
from contract.store.test_lost_connections import until
from contract.store.test_migrations import NEXT, OnPostgres, OnSqlite

from fleet.errors.contested import StoreBusy
from fleet.errors.store import StoreNewer, WriteFailed
from fleet.store import queries as q

on_postgres = pytest.mark.parametrize("store_url_kind", ["postgres"])
WAITS = "SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'fleet.writer'::regclass"


@pytest.fixture
def database(fleet, home, store_url_kind, store_url):
    """The same database, as a newer program sees it."""
    return OnSqlite(home) if store_url_kind == "sqlite" else OnPostgres(store_url)


def add_tag(tx):
    return {"n": q.add_tag(tx, project="p", slug="t", tag="a")}


@pytest.mark.req("STORE-12")
def test_a_program_that_had_the_database_open_does_not_write_to_a_newer_schema(fleet, database):
    fleet.tasks.add(project="p", title="T", slug="t")
    database.migrate(NEXT)
    with pytest.raises(StoreNewer, match=f"schema {NEXT.number}"):
        fleet.tasks.add(project="p", title="U", slug="u")
    tasks = "tasks" if isinstance(database, OnSqlite) else "fleet.tasks"
    assert database.ask(f"SELECT slug FROM {tasks}") == [("t",)]


@on_postgres
@pytest.mark.req("STORE-12")
def test_a_migration_waits_for_the_writer_and_its_backup_has_what_that_one_wrote(fleet, store, database):
    fleet.tasks.add(project="p", title="T", slug="t")
    migration = threading.Thread(target=database.migrate, args=(NEXT,))

    def work(tx):
        migration.start()
        until(lambda: not migration.is_alive() or database.ask(WAITS))
        return add_tag(tx)

    store.transact("tag it", work, caller("k1"))
    migration.join(60)
    ((name,),) = database.ask("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'fleet_backup_%'")
    assert database.ask(f"SELECT tag FROM {name}.tags") == [("a",)]


@on_postgres
@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("SET LOCAL statement_timeout = 1; SELECT pg_sleep(60)", StoreBusy),
        ("SET LOCAL ROLE pg_monitor; UPDATE fleet.tasks SET title = 'x'", WriteFailed),
    ],
    ids=["cancelled", "not allowed"],
)
def test_what_the_server_refuses_on_a_living_connection_is_no_defect(store, words, kind):
    with pytest.raises(kind):
        store.transact("try it", lambda tx: {"n": tx._db.execute(words).rowcount}, caller("k1"))


@on_postgres
def test_the_shortest_wait_is_a_limit_too(store, postgres_url, monkeypatch):
    monkeypatch.setattr(store, "_wait", 0.0001)
    store._db.execute("SET statement_timeout = '5s'")
    with psycopg.connect(postgres_url) as other:
        other.execute("LOCK TABLE fleet.writer IN EXCLUSIVE MODE")
        with pytest.raises(StoreBusy) as caught:
            store.transact("tag it", add_tag, caller("k1"))
    assert isinstance(caught.value.__cause__, psycopg.errors.LockNotAvailable)
