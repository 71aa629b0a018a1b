"""The store in SQLite, through the C module (see fleet.fast): importing the sqlite3 package takes six milliseconds."""

from __future__ import annotations

import os
import sys
from time import monotonic

from fleet import errors
from fleet.fast import sqlite
from fleet.model import VERSION
from fleet.store.transaction import Rows, Store, Tx
from fleet.world.files.locks import WriterLock, read_note
from fleet.world.home import paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, TypeVar

    from fleet.model.agents.actors import Caller
    from fleet.store.row import Query
    from fleet.store.transaction import R
    from fleet.world.funnel import Funnel

    T = TypeVar("T")

_LOG = "-wal"  # the suffix of the write-ahead log
MARK = 0x666C6565  # "flee", in the header of every database of ours
SCHEMA = 16
# How many seconds SQLite itself waits for its lock in one attempt; `retry_while_busy` makes more attempts.
_SLICE = 0.1
_NO_FILE = (-1, -1)
# Another process uses the database. SQLITE_PROTOCOL: too many processes used the index of the write-ahead log at once.
BUSY = ("SQLITE_BUSY", "SQLITE_PROTOCOL")

_SETTINGS = ("synchronous = FULL", "foreign_keys = ON", *(["fullfsync = ON"] if sys.platform == "darwin" else []))
# SQLite's errors when it cannot create the shared-memory file beside the database.
_NO_ROOM = ("SQLITE_IOERR", "SQLITE_FULL", "SQLITE_CANTOPEN")

_UNWRITABLE = {
    "SQLITE_FULL": "the disk is full",
    "SQLITE_READONLY": "it is read-only",
    "SQLITE_PERM": "permission denied",
    "SQLITE_CANTOPEN": "it cannot be opened",
    "SQLITE_IOERR": "the disk refused to write (is it full?)",
}


class MissingDatabase(Exception):
    """The home has no database yet."""


class OldDatabase(Exception):
    """The database's schema version is not this program's: it is older, or a newer fleet has migrated the database."""


class SqliteRows(Rows):
    """A snapshot of the database for reading."""

    __slots__ = ("_db",)

    def __init__(self, db: sqlite.Connection) -> None:
        self._db = db

    def select_one(self, query: Query, row: type[R], values: dict[str, Any]) -> R | None:
        """Return the first row of a query; None when there is none."""
        found = self._db.execute(query.sqlite, values).fetchone()
        return None if found is None else row(*found)

    def select_all(self, query: Query, row: type[R], values: dict[str, Any]) -> list[R]:
        """Return all rows of a query."""
        return [row(*found) for found in self._db.execute(query.sqlite, values)]


class SqliteTx(Tx):
    """A transaction."""

    __slots__ = ("_db",)

    def __init__(self, db: sqlite.Connection, caller: Caller) -> None:
        Tx.__init__(self, caller)
        self._db = db

    select_one = SqliteRows.select_one
    select_all = SqliteRows.select_all

    def write(self, query: Query, values: dict[str, Any]) -> int:
        """Run a writing statement and return how many rows it changed."""
        return self._db.execute(query.sqlite, values).rowcount

    def many(self, query: Query, rows: Iterable[dict[str, Any]]) -> None:
        """Run a writing statement once for each of many rows."""
        self._db.executemany(query.sqlite, rows)


class SqliteStore(Store):
    """The store of one fleet home in an SQLite file.

    Each transaction checks that the path still leads to the opened file, because somebody may have restored a backup
    over it.
    """

    kind = "sqlite"

    def __init__(self, home: str, funnel: Funnel, *, wait: float) -> None:
        super().__init__(funnel)
        # Seconds to wait for the writers' lock. None: without limit, in the kernel's queue, also in a thread.
        self.patience: float | None = wait
        self.path = f"{home}/{paths.DATABASE}"
        self._home = home
        self._wait = wait
        self._lock = WriterLock(f"{home}/{paths.WRITERS_LOCK}")
        self._file = (0, 0)
        # The path of the write-ahead log, which is beside the real file even when the database's path is a symlink.
        self._wal_path = ""
        # Whether the disk was full at opening. Each read then opens the database exclusively, and closes it afterwards.
        self._is_full = False
        # How many pages the write-ahead log has when a commit copies it into the database; 1000 is SQLite's own default.
        self._most_pages = 1_000
        self._db = self._open()

    def read(self, work: Callable[[Rows], T]) -> T:
        """Call `work` with one snapshot of the database, and return its result."""
        self._refuse_after_fork()
        try:
            return retry_while_busy(lambda: self._read_snapshot(work), self._wait)
        except sqlite.Error as error:
            raise self._translated(error, "read") from error
        finally:
            self._undo()

    def _read_snapshot(self, work: Callable[[Rows], T]) -> T:
        """Call `work` with one snapshot; raise StoreReplaced when the file was replaced."""
        self._undo()
        self._refuse_replaced()
        if self._is_full:
            return self._read_exclusively(work)
        self._db.execute("BEGIN")
        return work(SqliteRows(self._db))

    def _read_exclusively(self, work: Callable[[Rows], T]) -> T:
        """Call `work` with a snapshot, through a connection that excludes all others.

        On a full disk no other kind of connection works.
        """
        db = connect(self.path, alone=True)
        try:
            db.execute("BEGIN")
            return work(SqliteRows(db))
        finally:
            db.close()

    def open_shared_at_once(self) -> bool:
        """Begin a transaction that several requests share, without waiting.

        Return False, and begin none, when another process is writing.
        """
        patience, wait = self.patience, self._wait
        self.patience = self._wait = 0
        try:
            self.open_shared()
        except errors.StoreBusy:
            return False
        finally:
            self.patience, self._wait = patience, wait
        return True

    def checkpoint(self) -> None:
        """Copy the write-ahead log into the database, as far as no reader needs the older pages. Waits for no lock.

        Raise StoreReplaced when the file was replaced, WriteFailed when the disk was full when this store was opened.
        """
        self._refuse_replaced()
        if self._is_full:
            raise errors.WriteFailed(path=self.path, why="the disk is full")
        self._db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()

    def leave_checkpoints(self, pages: int) -> None:
        """Let a commit copy the write-ahead log only when the log has this many pages. Another thread copies it earlier."""
        self._most_pages = pages
        self._db.execute(f"PRAGMA wal_autocheckpoint = {pages:d}")

    def close(self) -> None:
        """Close the database and its lock."""
        self._db.close()
        self._lock.give()

    def _open(self) -> sqlite.Connection:
        """Open the database and return the connection.

        On a full disk, set `_is_full` and return a connection to an empty database in memory: reads and writes then
        open the file themselves. Raise MissingDatabase when there is none, OldDatabase when its schema version is older
        or newer than this program's, and a StoreError when it cannot be used.
        """
        if not os.path.lexists(self.path):
            raise MissingDatabase
        if not os.path.exists(self.path):
            raise self._unreadable("it is a link to a file that is not there")
        if not os.path.isfile(self.path):
            raise self._unreadable("it is not a regular file")
        self._file = _file_at(self.path)
        self._wal_path = f"{os.path.realpath(self.path) if os.path.islink(self.path) else self.path}{_LOG}"
        self._refuse_mixed()
        try:
            db, found = retry_while_busy(self._open_and_inspect, self._wait)
        except sqlite.Error as error:
            raise self._translated(error, "open") from error
        if found == (SCHEMA, MARK):
            self._refuse_replaced()
            return db
        db.close()
        if found[1] != MARK:
            raise self._foreign_error(found[0])
        raise OldDatabase

    def _open_and_inspect(self) -> tuple[sqlite.Connection, tuple[int, int]]:
        """Open the database; return the connection, and the schema version and application id in the database.

        On a full disk, read the two numbers in exclusive mode, which needs no shared-memory file, close the database,
        and return a connection to an empty database in memory instead.
        """
        try:
            return _connect_and_inspect(self.path)
        except sqlite.OperationalError as error:
            if not getattr(error, "sqlite_errorname", "").startswith(_NO_ROOM):
                raise
        alone, found = _connect_and_inspect(self.path, alone=True)
        alone.close()
        self._is_full = True
        return sqlite.connect(":memory:", isolation_level=None, check_same_thread=False), found

    def _foreign_error(self, version: int) -> errors.FleetError:
        """Return the error for a file that is not a database of fleet. `version` is the schema version in the file."""
        if version == 0 and os.path.getsize(self.path) == 0:
            return self._unreadable("it is empty")
        return errors.StoreForeign(path=self.path)

    def _begin(self) -> None:
        """Wait for the turn to write and begin a transaction.

        Raise StoreBusy when that takes too long, StoreNewer or StoreReplaced when the database was migrated by a newer
        fleet or replaced by another file since it was opened.
        """
        wait_for_turn(self._lock, self.patience)
        try:
            if self._is_full:
                self._db = self._reopen()
            retry_while_busy(lambda: self._db.execute("BEGIN IMMEDIATE"), self._wait)
            self._refuse_newer()
            self._refuse_replaced()
            # Written before the log gets anything, so that a process that opens the store later always finds a true note.
            if not self._lock.is_noted:
                self._lock.note(*self._file, *_file_at(self._wal_path))
        except BaseException as error:
            self._undo()
            self._lock.unlock()
            known = self._translated(error, "begin")
            if known is error:
                raise
            raise known from error

    def _tx(self, by: Caller) -> Tx:
        return SqliteTx(self._db, by)

    def _execute(self, words: str) -> None:
        self._db.execute(words)

    def _is_in_transaction(self) -> bool:
        return self._db.in_transaction

    def _reopen(self) -> sqlite.Connection:
        """Open the database again for writing, after it was opened on a full disk."""
        self._refuse_replaced()
        db, _found = retry_while_busy(lambda: _connect_and_inspect(self.path), self._wait)
        self._is_full = False
        db.execute(f"PRAGMA wal_autocheckpoint = {self._most_pages:d}")
        return db

    def _refuse_newer(self) -> None:
        """Raise StoreNewer when a newer fleet has migrated the database since it was opened."""
        found = self._db.execute("PRAGMA user_version").fetchone()[0]
        if found > SCHEMA:
            raise errors.StoreNewer(path=self.path, found=found, known=SCHEMA, program=VERSION)

    def _refuse_replaced(self) -> None:
        """Raise StoreReplaced when the path no longer leads to the opened file."""
        now = _file_at(self.path)
        if now != self._file:
            raise errors.StoreReplaced(path=self.path, how="replaced by another file" if now != _NO_FILE else "deleted")

    def _refuse_mixed(self) -> None:
        """Raise StoreMixed when the write-ahead log beside the database belongs to another database file.

        When both the database and the log are other files than at the last write, the whole home may have been restored
        from a backup, which is allowed.
        """
        try:
            log = os.stat(self._wal_path)
        except OSError:
            return
        noted = read_note(f"{self._home}/{paths.WRITERS_LOCK}") if log.st_size else []
        if noted[2:] == [log.st_dev, log.st_ino] and tuple(noted[:2]) != self._file:
            raise errors.StoreMixed(path=self.path)

    def _commit(self) -> None:
        self._refuse_replaced()
        self._db.execute("COMMIT")

    def _undo(self) -> None:
        try:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
        except sqlite.Error:
            pass  # it was rolled back by the error itself

    def _end(self) -> None:
        self._lock.unlock()

    def _translated(self, error: BaseException, doing: str) -> BaseException:
        """Return fleet's error for an error of SQLite, any other error unchanged. `doing` says what failed."""
        if not isinstance(error, sqlite.Error):
            return error
        name: str = getattr(error, "sqlite_errorname", "")
        if name.startswith("SQLITE_CONSTRAINT"):
            return errors.InvariantBroken(doing=doing, why=str(error))
        if name.startswith((*BUSY, "SQLITE_LOCKED")):
            return errors.StoreBusy(holder="another program", seconds=self._wait)
        for prefix, why in _UNWRITABLE.items():
            if name.startswith(prefix):
                return errors.WriteFailed(path=self.path, why=why)
        return self._unreadable(str(error))

    def _unreadable(self, why: str) -> errors.FleetError:
        return errors.StoreUnreadable(path=self.path, why=why, backups=f"{self._home}/{paths.BACKUPS}")


def _file_at(path: str) -> tuple[int, int]:
    """Return the device and inode of the file at a path; (-1, -1) when it is missing."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return _NO_FILE
    return found.st_dev, found.st_ino


def wait_for_turn(lock: WriterLock, wait: float | None) -> None:
    """Take the lock of the store's writers.

    Raise StoreBusy, with the holder, when `wait` seconds are over (None: wait without limit); raise HomeUnusable when
    the lock file cannot be created.
    """
    try:
        lock.take(wait)
    except BlockingIOError:
        raise errors.StoreBusy(holder=lock.holder(), seconds=wait or 0) from None
    except OSError as error:
        home, name = os.path.split(lock.path)
        raise errors.HomeUnusable(path=home, why=f"{name}: {error.strerror}".lower()) from None


def retry_while_busy(act: Callable[[], T], wait: float) -> T:
    """Call `act` again and again while another program holds the database, and return its result.

    Raise SQLite's error when the database is still held after `wait` seconds, and any other error at once.
    """
    until = monotonic() + wait
    while True:
        try:
            return act()
        except sqlite.OperationalError as error:
            if not getattr(error, "sqlite_errorname", "").startswith(BUSY) or monotonic() >= until:
                raise


def _connect_and_inspect(path: str, *, alone: bool = False) -> tuple[sqlite.Connection, tuple[int, int]]:
    """Open the database, in exclusive mode if `alone`; return the connection, and the schema version and application id."""
    db = connect(path, alone=alone)
    try:
        found = db.execute("PRAGMA user_version").fetchone()[0], db.execute("PRAGMA application_id").fetchone()[0]
    except BaseException:
        db.close()
        raise
    if not alone and found == (SCHEMA, MARK) and db.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        db.execute("PRAGMA journal_mode = WAL")  # somebody restored a backup, which is not in WAL mode
    return db, found


def connect(path: str, *, alone: bool = False) -> sqlite.Connection:
    """Open a connection to an existing database file, with synced commits.

    `alone`: nobody else can read or write while it is open. No shared-memory file is needed then, so it works on a full
    disk.
    """
    name = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    db = sqlite.connect(f"file:{name}?mode=rw", timeout=_SLICE, isolation_level=None, uri=True, check_same_thread=False)
    try:
        for setting in _SETTINGS if not alone else ("locking_mode = EXCLUSIVE", *_SETTINGS):
            db.execute(f"PRAGMA {setting}")
    except BaseException:
        db.close()  # an open connection would block the next attempt
        raise
    return db
