"""SQLite, through the C module (see fleet.fast): the sqlite3 package around it costs six milliseconds to import."""

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

_LOG = "-wal"  # behind the name of the database: its recent changes
MARK = 0x666C6565  # "flee", in the header of every database of ours
SCHEMA = 16
_SLICE = 0.1
_NO_FILE = (-1, -1)
# Somebody else is at it. SQLITE_PROTOCOL: too many were at the index of its log at once.
BUSY = ("SQLITE_BUSY", "SQLITE_PROTOCOL")

_SETTINGS = ("synchronous = FULL", "foreign_keys = ON", *(["fullfsync = ON"] if sys.platform == "darwin" else []))
# What SQLite says when it cannot make the files that readers share beside the database.
_NO_ROOM = ("SQLITE_IOERR", "SQLITE_FULL", "SQLITE_CANTOPEN")

_UNWRITABLE = {
    "SQLITE_FULL": "the disk is full",
    "SQLITE_READONLY": "it is read-only",
    "SQLITE_PERM": "permission denied",
    "SQLITE_CANTOPEN": "it cannot be opened",
    "SQLITE_IOERR": "the disk refused to write (is it full?)",
}


class MissingDatabase(Exception):
    """There is no database yet."""


class OldDatabase(Exception):
    """The database has an older schema than this program."""


class SqliteRows(Rows):
    """One snapshot."""

    __slots__ = ("_db",)

    def __init__(self, db: sqlite.Connection) -> None:
        self._db = db

    def select_one(self, query: Query, row: type[R], values: dict[str, Any]) -> R | None:
        """Return the first row, or None."""
        found = self._db.execute(query.sqlite, values).fetchone()
        return None if found is None else row(*found)

    def select_all(self, query: Query, row: type[R], values: dict[str, Any]) -> list[R]:
        """Return all rows of a query."""
        return [row(*found) for found in self._db.execute(query.sqlite, values)]


class SqliteTx(Tx):
    """One transaction."""

    __slots__ = ("_db",)

    def __init__(self, db: sqlite.Connection, caller: Caller) -> None:
        Tx.__init__(self, caller)
        self._db = db

    select_one = SqliteRows.select_one
    select_all = SqliteRows.select_all

    def write(self, query: Query, values: dict[str, Any]) -> int:
        """Run a writing statement. Return how many rows it changed."""
        return self._db.execute(query.sqlite, values).rowcount

    def many(self, query: Query, rows: Iterable[dict[str, Any]]) -> None:
        """Run a writing statement once for each of many rows."""
        self._db.executemany(query.sqlite, rows)


class SqliteStore(Store):
    """The embedded store of one fleet home.

    Each transaction checks that the path still names the opened file: somebody may have restored a backup over it.
    """

    kind = "sqlite"

    def __init__(self, home: str, funnel: Funnel, *, wait: float) -> None:
        super().__init__(funnel)
        # Seconds to wait for the turn to write. None: without limit, in the kernel's queue, also in a thread.
        self.patience: float | None = wait
        self.path = f"{home}/{paths.DATABASE}"
        self._home = home
        self._wait = wait
        self._lock = WriterLock(f"{home}/{paths.WRITERS_LOCK}")
        self._file = (0, 0)
        # The write-ahead log: beside the real file, also when the path is a link.
        self._log = ""
        # The disk is full: the database is held alone for each look, and not at all in between.
        self._is_full = False
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
        self._undo()
        self._refuse_replaced()
        if self._is_full:
            return self._read_exclusively(work)
        self._db.execute("BEGIN")
        return work(SqliteRows(self._db))

    def _read_exclusively(self, work: Callable[[Rows], T]) -> T:
        db = connect(self.path, alone=True)
        try:
            db.execute("BEGIN")
            return work(SqliteRows(db))
        finally:
            db.close()

    def open_shared_at_once(self, by: Caller) -> bool:
        """Begin a shared transaction; False when another process writes."""
        patience, wait = self.patience, self._wait
        self.patience = self._wait = 0
        try:
            self.open_shared(by)
        except errors.StoreBusy:
            return False
        finally:
            self.patience, self._wait = patience, wait
        return True

    def close(self) -> None:
        """Close the database and its lock."""
        self._db.close()
        self._lock.give()

    def _open(self) -> sqlite.Connection:
        if not os.path.lexists(self.path):
            raise MissingDatabase
        if not os.path.exists(self.path):
            raise self._unreadable("it is a link to a file that is not there")
        if not os.path.isfile(self.path):
            raise self._unreadable("it is not a regular file")
        self._file = _file_at(self.path)
        self._log = f"{os.path.realpath(self.path) if os.path.islink(self.path) else self.path}{_LOG}"
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
        """Open the database; on a full disk in exclusive mode, which needs no shared-memory file."""
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
        if version == 0 and os.path.getsize(self.path) == 0:
            return self._unreadable("it is empty")
        return errors.StoreForeign(path=self.path)

    def _begin(self, by: Caller) -> Tx:
        wait_for_turn(self._lock, self.patience)
        try:
            if self._is_full:
                self._db = self._reopen()
            retry_while_busy(lambda: self._db.execute("BEGIN IMMEDIATE"), self._wait)
            self._refuse_newer()
            self._refuse_replaced()
            # Before anything is in the log: whoever opens the store at any moment later finds a note that is true.
            if not self._lock.is_noted:
                self._lock.note(*self._file, *_file_at(self._log))
        except BaseException as error:
            self._undo()
            self._lock.unlock()
            known = self._translated(error, "begin")
            if known is error:
                raise
            raise known from error
        return self._tx(by)

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
        return db

    def _refuse_newer(self) -> None:
        """Raise when a newer fleet has migrated the database since it was opened."""
        found = self._db.execute("PRAGMA user_version").fetchone()[0]
        if found > SCHEMA:
            raise errors.StoreNewer(path=self.path, found=found, known=SCHEMA, program=VERSION)

    def _refuse_replaced(self) -> None:
        """Raise when the path names another file than the opened one, or none."""
        now = _file_at(self.path)
        if now != self._file:
            raise errors.StoreReplaced(path=self.path, how="replaced by another file" if now != _NO_FILE else "deleted")

    def _refuse_mixed(self) -> None:
        """Raise when the write-ahead log beside the database belongs to another database file.

        When both differ from the last write, the whole home may have been restored.
        """
        try:
            log = os.stat(self._log)
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
    """Return device and inode of the file at a path."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return _NO_FILE
    return found.st_dev, found.st_ino


def wait_for_turn(lock: WriterLock, wait: float | None) -> None:
    """Wait for the turn to write. StoreBusy names the holder; HomeUnusable says why the lock cannot be made."""
    try:
        lock.take(wait)
    except BlockingIOError:
        raise errors.StoreBusy(holder=lock.holder(), seconds=wait or 0) from None
    except OSError as error:
        home, name = os.path.split(lock.path)
        raise errors.HomeUnusable(path=home, why=f"{name}: {error.strerror}".lower()) from None


def retry_while_busy(act: Callable[[], T], wait: float) -> T:
    """Repeat an action while another program holds the database, for at most that long. Ctrl-C works in between."""
    until = monotonic() + wait
    while True:
        try:
            return act()
        except sqlite.OperationalError as error:
            if not getattr(error, "sqlite_errorname", "").startswith(BUSY) or monotonic() >= until:
                raise


def _connect_and_inspect(path: str, *, alone: bool = False) -> tuple[sqlite.Connection, tuple[int, int]]:
    db = connect(path, alone=alone)
    try:
        found = db.execute("PRAGMA user_version").fetchone()[0], db.execute("PRAGMA application_id").fetchone()[0]
    except BaseException:
        db.close()
        raise
    if not alone and found == (SCHEMA, MARK) and db.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        db.execute("PRAGMA journal_mode = WAL")  # a backup that was put in its place
    return db, found


def connect(path: str, *, alone: bool = False) -> sqlite.Connection:
    """Open a connection to an existing file, with synced commits.

    `alone`: nobody else can read or write while it is open; no shared-memory file is needed then, so a full disk is no
    obstacle.
    """
    name = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    db = sqlite.connect(f"file:{name}?mode=rw", timeout=_SLICE, isolation_level=None, uri=True, check_same_thread=False)
    try:
        for setting in _SETTINGS if not alone else ("locking_mode = EXCLUSIVE", *_SETTINGS):
            db.execute(f"PRAGMA {setting}")
    except BaseException:
        db.close()  # else it would stand in the way of whoever tries in another way
        raise
    return db
