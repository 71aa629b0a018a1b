"""A backup that was put in place: it gets a write-ahead log of its own, and is never mixed with that of the old database."""

import contextlib
import os
import shutil
import sqlite3

import pytest


@pytest.mark.req("STORE-15")
def test_a_restored_database_that_another_program_writes_to_is_busy(fleet):
    (fleet.home / "config.toml").write_text("store_wait = 0.2\n")
    with contextlib.closing(sqlite3.connect(fleet.home / "fleet.db", isolation_level=None)) as other:
        assert other.execute("PRAGMA journal_mode = DELETE").fetchone() == ("delete",)
        other.execute("BEGIN IMMEDIATE")
        fleet("status").refused(12, "busy", "another program")
        other.execute("ROLLBACK")
    fleet.add("a")
    with contextlib.closing(sqlite3.connect(fleet.home / "fleet.db")) as other:
        assert other.execute("PRAGMA journal_mode").fetchone() == ("wal",)


@pytest.mark.req("STORE-15", "STORE-1")
def test_a_backup_beside_the_recent_changes_of_the_old_database_is_refused_untouched(fleet, tmp_path):
    database, log, index = (fleet.home / f"fleet.db{more}" for more in ("", "-wal", "-shm"))
    with contextlib.closing(sqlite3.connect(database)) as holder:
        fleet.add("a")
        holder.execute("VACUUM INTO ?", (str(tmp_path / "backup.db"),))
        fleet.add("b")
        os.replace(tmp_path / "backup.db", database)
        before = (database.read_bytes(), log.read_bytes())
        for words in (["status"], ["task", "list"], ["add", "c"]):
            fleet(*words).refused(1, "fleet.db-wal is of the old one", "restore-a-backup.md")
        assert (database.read_bytes(), log.read_bytes()) == before
        for each in (log, index):
            each.rename(tmp_path / each.name)
        assert [each["slug"] for each in fleet.ask("task", "list")] == ["a"]
        fleet.add("d")
    assert [each["slug"] for each in fleet.ask("task", "list")] == ["a", "d"]


@pytest.mark.req("STORE-15")
def test_a_home_that_is_restored_whole_keeps_its_recent_changes(fleet, tmp_path):
    with contextlib.closing(sqlite3.connect(fleet.home / "fleet.db")) as holder:
        holder.execute("SELECT 1 FROM tasks").fetchone()
        fleet.add("a")
        shutil.copytree(fleet.home, tmp_path / "copy")
    shutil.rmtree(fleet.home)
    shutil.copytree(tmp_path / "copy", fleet.home)
    assert (fleet.home / "fleet.db-wal").stat().st_size
    assert [each["slug"] for each in fleet.ask("task", "list")] == ["a"]
