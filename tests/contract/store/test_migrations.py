"""Schema changes: numbered, in one transaction, after a backup; a newer database is refused."""

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from fleet.errors.store import StoreNewer
from fleet.fast import sqlite
from fleet.model import VERSION
from fleet.model.agents.actors import Caller
from fleet.store import queries as q
from fleet.store.migrations import MIGRATIONS, Migration
from fleet.store.postgres import open_postgres
from fleet.store.sqlite_setup import make_or_migrate
from fleet.world.funnel import Funnel

NEXT = Migration(
    number=MIGRATIONS[-1].number + 1,
    name="next",
    text="ALTER TABLE projects ADD COLUMN colour TEXT;\nCREATE TABLE extra (n INTEGER) STRICT;\n",
)
BROKEN = Migration(number=NEXT.number, name="broken", text="CREATE TABLE extra (n INTEGER) STRICT;\nnonsense;\n")


class OnSqlite:
    def __init__(self, home):
        self.home = home

    def migrate(self, *more):
        make_or_migrate(str(self.home), Funnel(), wait=5, migrations=(*MIGRATIONS, *more))

    def ask(self, sql):
        db = sqlite.connect(str(self.home / "fleet.db"))
        try:
            return db.execute(sql).fetchall()
        finally:
            db.close()

    def has_extra(self):
        return bool(self.ask("SELECT 1 FROM sqlite_master WHERE name = 'extra'"))

    def backups(self):
        found = sorted((self.home / "backups").glob("*.db"))
        for path in found:
            db = sqlite.connect(str(path))
            assert db.execute("SELECT name FROM projects").fetchall() == [("p",)]
            assert path.stat().st_mode & 0o777 == 0o600
            db.close()
        return len(found)


class OnPostgres:
    def __init__(self, url):
        self.url = url

    def migrate(self, *more):
        open_postgres(self.url, Funnel(), wait=5, migrations=(*MIGRATIONS, *more)).close()

    def ask(self, sql):
        with psycopg.connect(self.url) as db:
            return db.execute(sql).fetchall()

    def has_extra(self):
        return self.ask("SELECT to_regclass('fleet.extra')")[0][0] is not None

    def backups(self):
        found = self.ask("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'fleet_backup_%'")
        for (name,) in found:
            assert self.ask(f"SELECT name FROM {name}.projects") == [("p",)]
        return len(found)


@pytest.fixture
def database(fleet, home, store_url_kind, store_url):
    fleet.close()
    return OnSqlite(home) if store_url_kind == "sqlite" else OnPostgres(store_url)


@pytest.mark.req("STORE-12")
def test_an_older_database_is_migrated_after_a_backup(database):
    database.migrate(NEXT)
    assert database.has_extra()
    assert database.backups() == 1
    database.migrate(NEXT)
    assert database.backups() == 1


@pytest.mark.req("STORE-12")
def test_a_migration_that_fails_leaves_the_database_as_it_was(database, open_fleet):
    with pytest.raises(Exception, match=r"(?i)nonsense|syntax"):
        database.migrate(BROKEN)
    assert not database.has_extra()
    assert [each.name for each in open_fleet().projects.list()] == ["p"]


@pytest.mark.req("STORE-12")
def test_a_newer_database_is_refused_with_both_versions(database, open_fleet):
    database.migrate(NEXT)
    with pytest.raises(StoreNewer) as caught:
        open_fleet()
    said = str(caught.value)
    assert f"schema {NEXT.number}" in said
    assert f"up to {MIGRATIONS[-1].number}" in said
    assert VERSION in said


@pytest.mark.req("STORE-2")
def test_everything_durable_lives_in_one_database(fleet, home, store_url_kind):
    fleet.tasks.add(project="p", title="T", slug="t")
    fleet.tasks.log(project="p", slug="t", message="m")
    fleet.tasks.done(project="p", slug="t")
    database = {"fleet.db", "fleet.db-wal", "fleet.db-shm", "fleet.db.writer"} if store_url_kind == "sqlite" else set()
    assert {path.name for path in home.iterdir()} <= database | {"config.toml", "home.json", "locks"}, (
        "who the home is, and locks"
    )
    tables = (
        "projects",
        "seats",
        "tasks",
        "edges",
        "task_log",
        "artifacts",
        "dispatches",
        "claims",
        "bundles",
        "operations",
    )
    text = MIGRATIONS[0].text
    assert all(f"CREATE TABLE {name} (" in text for name in tables)


def test_the_migrations_are_numbered_without_a_gap():
    assert [each.number for each in MIGRATIONS] == list(range(1, len(MIGRATIONS) + 1))


@pytest.mark.req("STORE-13")
def test_both_stores_sort_text_alike(fleet):
    for slug in ("b", "a_1", "a-1", "a.1", "a1"):
        fleet.tasks.add(project="p", title=slug, slug=slug)
    assert [task.slug for task in fleet.tasks.list(project="p")] == sorted(["b", "a_1", "a-1", "a.1", "a1"])


@pytest.mark.req("STORE-16")
def test_a_caller_is_remembered_by_its_key_after_the_store_was_closed(open_fleet, fleet):
    by = Caller(actor="tester", at=1, key="once")
    first = fleet.store.transact("reserve", lambda tx: {"new": q.reserve_id(tx, id="0000000a", at=1)}, by)
    fleet.close()
    again = open_fleet().store.transact("reserve", lambda tx: {"new": q.reserve_id(tx, id="0000000a", at=1)}, by)
    assert first == again == {"new": 1}


@pytest.mark.req("STORE-12", "STORE-13")
def test_of_many_who_open_an_empty_server_at_once_one_makes_the_tables(empty_postgres_url):
    database = OnPostgres(empty_postgres_url)
    with ThreadPoolExecutor(4) as openers:
        opened = [openers.submit(database.migrate) for _ in range(4)]
    assert [each.exception() for each in opened] == [None] * 4
    assert database.ask("SELECT version FROM fleet.schema_version") == [(MIGRATIONS[-1].number,)]
    assert database.ask("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'fleet%'") == [("fleet",)], "no backup"
