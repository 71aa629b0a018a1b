"""A database that is moved over the one in use, or deleted: whoever has the old file open writes no more, and ends with one line."""

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from staging.stage import FLEET, answer, is_alive, process_of

from fleet.api.fleet import Fleet
from fleet.errors.store import StoreGone, StoreReplaced
from fleet.testing.crash.scenarios import until
from fleet.testing.scene import PROJECT
from fleet.verbs.dispatch.plan import Wanted

JOB = """
name: j
map:
  isolation: none
  input: [a]
  steps:
    - shell: 'touch begun; sleep 1000'
"""


def backup(stage) -> str:
    """A copy of the database, as the how-to says."""
    path = f"{stage.root}/backup.db"
    with closing(sqlite3.connect(f"{stage.home}/fleet.db")) as db:
        db.execute("VACUUM INTO ?", (path,))
    return path


def put_in_place(stage, path: str) -> str:
    """Move it over the one in use. Where the old one is now."""
    kept = f"{stage.root}/kept"
    os.mkdir(kept)
    os.link(f"{stage.home}/fleet.db", f"{kept}/fleet.db")
    for more in ("-wal", "-shm"):
        if os.path.exists(f"{stage.home}/fleet.db{more}"):
            os.rename(f"{stage.home}/fleet.db{more}", f"{kept}/fleet.db{more}")
    os.replace(path, f"{stage.home}/fleet.db")
    return f"{kept}/fleet.db"


@pytest.mark.req("STORE-15", "STORE-1")
def test_nothing_is_written_to_a_file_that_is_not_the_database_any_more(scene):
    copy = backup(scene)
    with scene.fleet() as fleet:
        kept = put_in_place(scene, copy)
        with pytest.raises(StoreReplaced, match="replaced by another file"):
            fleet.tasks.add(project=PROJECT, title="lost")
        with pytest.raises(StoreReplaced):
            fleet.operations.newest()
    with closing(sqlite3.connect(kept)) as old, closing(sqlite3.connect(f"{scene.home}/fleet.db")) as new:
        assert [db.execute("SELECT COUNT(*) FROM tasks").fetchone() for db in (old, new)] == [(0,), (0,)]
    with scene.fleet() as fleet:
        fleet.tasks.add(project=PROJECT, title="kept", slug="kept")
        assert [each.slug for each in fleet.tasks.list(project=PROJECT)] == ["kept"]


@pytest.mark.req("STORE-15", "STORE-1")
def test_a_database_that_is_moved_away_in_the_middle_of_a_transaction_is_not_committed_to(scene):
    copy = backup(scene)
    with scene.fleet() as fleet:

        def work(tx):
            put_in_place(scene, copy)
            return {"done": True}

        with pytest.raises(StoreReplaced):
            fleet.store.transact("a test", work, fleet.caller())
    with scene.fleet() as fleet:
        assert "a test" not in scene.program("ops").out


@pytest.mark.req("STORE-15", "JOB-5")
def test_a_runner_whose_database_was_replaced_ends_with_one_line(scene):
    copy = backup(scene)
    Path(scene.root, "job.yml").write_text(JOB)
    runner = scene.start(FLEET, "job", "run", f"{scene.root}/job.yml", "-p", PROJECT)
    until(lambda: list(Path(scene.home, "projects", PROJECT, "worktrees").glob("*/begun")))
    put_in_place(scene, copy)
    said = answer(runner)
    assert (said.code, said.err.count("\n")) == (1, 1), said
    assert "replaced by another file" in said.err
    scene.forgiven = {"everything"}


@pytest.mark.req("STORE-15")
def test_a_coordinator_whose_database_is_deleted_ends_and_makes_no_other(scene):
    with scene.fleet() as fleet:
        scene.without_hint(fleet)
        ident = fleet.coord.start(Wanted(project=PROJECT, slug=None, kind="coord", engine="fleet")).id
        scene.launched(fleet, ident)
        who = process_of(fleet, ident)
    kept = f"{scene.root}/kept.db"
    with closing(sqlite3.connect(f"{scene.home}/fleet.db")) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        os.rename(f"{scene.home}/fleet.db", kept)
    until(lambda: not is_alive(who.pid))
    assert not os.path.exists(f"{scene.home}/fleet.db")
    os.rename(kept, f"{scene.home}/fleet.db")
    with scene.fleet() as fleet:
        fleet.coord.stop(PROJECT, "a test")


@pytest.mark.req("STORE-15")
def test_a_schema_that_was_dropped_is_not_made_anew(postgres_url, tmp_path):
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text(f'store = "{postgres_url}"\n')
    with Fleet.open(str(home), actor="ann") as fleet:
        assert fleet.store.kind == "postgresql"
    with psycopg.connect(postgres_url, autocommit=True) as db:
        db.execute("DROP SCHEMA fleet CASCADE")
    with pytest.raises(StoreGone, match="schema fleet"):
        Fleet.open(str(home), actor="ann")
    shutil.rmtree(home)
