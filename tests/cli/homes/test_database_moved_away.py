"""STORE-15: what a database that was moved away has left beside it is kept, and is not read as the new one's."""

import os
import shutil
import sqlite3
from contextlib import closing

import pytest


@pytest.mark.req("STORE-15")
def test_a_new_database_has_nothing_of_the_old_ones_log(fleet, tmp_path):
    fleet.add("old")
    database, moved = fleet.home / "fleet.db", tmp_path / "kept.db"
    with closing(sqlite3.connect(database)) as killed:
        killed.execute("UPDATE tasks SET title = 'Changed'")
        killed.commit()
        log = database.with_name("fleet.db-wal").read_bytes()
        shutil.copy(database.with_name("fleet.db-wal"), tmp_path / "left-wal")
    assert log
    os.rename(database, moved)
    shutil.copy(tmp_path / "left-wal", database.with_name("fleet.db-wal"))

    fleet("init").refused(1, "fleet.db is not there")
    fleet("home", "new-database", "--reason", "it was moved away").ok()
    fleet("init").ok()
    assert fleet.ask("task", "list") == []
    with closing(sqlite3.connect(database)) as new:
        assert new.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    aside = [path for path in fleet.home.glob("fleet.db-wal.*") if path.read_bytes() == log]
    assert len(aside) == 1
