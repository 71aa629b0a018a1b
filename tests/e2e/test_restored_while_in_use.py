"""A backup that was put in place has no write-ahead log yet: it gets one, as soon as nobody else is at it."""

import contextlib
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
