"""Create, migrate and back up an SQLite database."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from fleet import errors
from fleet.fast import sqlite
from fleet.model import VERSION
from fleet.store.migrations import MIGRATIONS, Migration
from fleet.store.sqlite import BUSY, MARK, connect, retry_while_busy, wait_for_turn
from fleet.world.clock import Clock
from fleet.world.files.files import move_into_place
from fleet.world.files.locks import WriterLock
from fleet.world.home import paths

if TYPE_CHECKING:
    from fleet.world.funnel import Funnel

_PRIVATE = 0o600
_A_MOMENT = 0.1


def make_or_migrate(home: str, funnel: Funnel, *, wait: float, migrations: tuple[Migration, ...] = MIGRATIONS) -> None:
    """Create the home's database if it is missing, or migrate it if it is old; other processes wait for this one.

    `wait` is how many seconds to wait for the lock of the writers.
    """
    lock = WriterLock(f"{home}/{paths.WRITERS_LOCK}")
    wait_for_turn(lock, wait)
    try:
        funnel.through("make or migrate database", lambda: _make_or_migrate(home, wait, migrations))
    except (sqlite.Error, OSError) as error:
        raise _fleet_error(home, error) from error
    finally:
        lock.give()


def _make_or_migrate(home: str, wait: float, migrations: tuple[Migration, ...]) -> None:
    """Create or migrate the database. The caller holds the lock of the writers.

    `wait` is how many seconds to wait for the database's lock.
    """
    path = f"{home}/{paths.DATABASE}"
    if not os.path.lexists(path):
        _make_database(path, wait, migrations)
        return
    db = connect(path)
    try:
        _migrate_database(home, db, wait, migrations)
    finally:
        db.close()


def _make_database(path: str, wait: float, migrations: tuple[Migration, ...]) -> None:
    """Build the database under a temporary name and rename it, so that it is complete as soon as it exists.

    `wait` is how many seconds to wait for the database's lock.
    """
    building = f"{path}.making"
    for left in (building, f"{building}-journal", f"{building}-wal", f"{building}-shm"):
        Path(left).unlink(missing_ok=True)
    os.close(os.open(building, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _PRIVATE))
    db = connect(building)
    try:
        _apply_migrations(db, wait, migrations)
        db.execute("PRAGMA journal_mode = WAL")
    finally:
        db.close()
    _set_old_logs_aside(path)
    move_into_place(building, path)


def _set_old_logs_aside(path: str) -> None:
    """Rename the log files of a database that was moved away, because SQLite would apply them to the new database."""
    for left in (f"{path}-wal", f"{path}-shm", f"{path}-journal"):
        if os.path.lexists(left):
            os.rename(left, f"{left}.{Clock().now()}")


def _migrate_database(home: str, db: sqlite.Connection, wait: float, migrations: tuple[Migration, ...]) -> None:
    """Back up the database and apply the migrations that it lacks; raise StoreNewer when a newer fleet has migrated it.

    `wait` is how many seconds to wait for the database's lock.
    """
    found: int = db.execute("PRAGMA user_version").fetchone()[0]
    known = migrations[-1].number
    if found > known:
        raise errors.StoreNewer(path=f"{home}/{paths.DATABASE}", found=found, known=known, program=VERSION)
    due = tuple(each for each in migrations if each.number > found)
    if not due:
        return
    _backup_database(home, db, found)
    _apply_migrations(db, wait, due)


def _apply_migrations(db: sqlite.Connection, wait: float, due: tuple[Migration, ...]) -> None:
    """Apply migrations and set the new version in one transaction.

    `wait` is how many seconds to wait for the database's lock.
    """
    retry_while_busy(lambda: db.execute("BEGIN IMMEDIATE"), wait)
    for migration in due:
        for statement in migration.statements():
            db.execute(statement)
    db.execute(f"PRAGMA application_id = {MARK}")
    db.execute(f"PRAGMA user_version = {due[-1].number}")
    db.execute("COMMIT")


def _backup_database(home: str, db: sqlite.Connection, version: int) -> None:
    """Copy the database into the home's folder of backups, under a name with its schema `version` and the time.

    The caller holds the lock of the writers.
    """
    folder = Path(home, paths.BACKUPS)
    folder.mkdir(mode=0o700, exist_ok=True)
    discard_unfinished(home)
    target = folder / f"fleet-schema{version}-{Clock().now()}.db"
    building = folder / f"{target.name}.making"
    db.execute("VACUUM INTO ?", (str(building),))
    building.chmod(_PRIVATE)
    move_into_place(str(building), str(target))


def discard_unfinished(home: str) -> None:
    """Remove unfinished backups of killed processes. The caller holds the lock of the writers."""
    for left in Path(home, paths.BACKUPS).glob("*.db.making*"):
        left.unlink(missing_ok=True)


def sweep_backups(home: str, funnel: Funnel) -> None:
    """Remove half-written backups of the database that killed processes left; do nothing while a process writes to the store."""
    if not any(Path(home, paths.BACKUPS).glob("*.db.making*")):
        return
    lock = WriterLock(f"{home}/{paths.WRITERS_LOCK}")
    try:
        lock.take(_A_MOMENT)
        funnel.through("discard unfinished backups", lambda: discard_unfinished(home))
    except BlockingIOError:
        return
    finally:
        lock.give()


def _fleet_error(home: str, error: Exception) -> errors.FleetError:
    """Return fleet's error for an error of SQLite or of the file system."""
    path = f"{home}/{paths.DATABASE}"
    if isinstance(error, OSError):
        return errors.WriteFailed(path=path, why=str(error.strerror or error).lower())
    name: str = getattr(error, "sqlite_errorname", "")
    if name in {"SQLITE_NOTADB", "SQLITE_CORRUPT"}:
        return errors.StoreUnreadable(path=path, why=str(error), backups=f"{home}/{paths.BACKUPS}")
    if name.startswith(BUSY):
        return errors.StoreBusy(holder="another program", seconds=0)
    return errors.WriteFailed(path=path, why=str(error))
