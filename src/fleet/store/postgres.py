"""The store in PostgreSQL, through psycopg 3.

Every transaction first locks one table, so there is one writer at a time as in SQLite, and all invariants mean the same
in both. (Measured: advisory locks under REPEATABLE READ let 16 writers past a limit of 4; SERIALIZABLE held, but
retried thousands of times.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import psycopg

from fleet import errors
from fleet.model import VERSION
from fleet.model.text import jsontext
from fleet.store import queries as q
from fleet.store.migrations import MIGRATIONS, Migration
from fleet.store.transaction import Rows, Store, Tx, fingerprint
from fleet.world.clock import Clock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from fleet.model.agents.actors import Caller
    from fleet.store.row import Query
    from fleet.store.transaction import R
    from fleet.world.funnel import Funnel

T = TypeVar("T")
Connection = psycopg.Connection[tuple[Any, ...]]

_MIGRATION_LOCK = 0x666C6565
_TURN = "LOCK TABLE writer IN EXCLUSIVE MODE; SELECT version FROM schema_version"
_BUSY = (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected, psycopg.errors.QueryCanceled)
_UNWRITABLE = (psycopg.errors.DiskFull, psycopg.errors.ReadOnlySqlTransaction, psycopg.errors.InsufficientPrivilege)


class PostgresRows(Rows):
    """A snapshot of the database for reading."""

    __slots__ = ("_db",)

    def __init__(self, db: Connection) -> None:
        self._db = db

    def select_one(self, query: Query, row: type[R], values: dict[str, Any]) -> R | None:
        """Return the first row of a query; None when there is none."""
        found = self._db.execute(query.postgres.encode(), _storable(values)).fetchone()
        return None if found is None else row(*found)

    def select_all(self, query: Query, row: type[R], values: dict[str, Any]) -> list[R]:
        """Return all rows of a query."""
        return [row(*found) for found in self._db.execute(query.postgres.encode(), _storable(values)).fetchall()]


class PostgresTx(Tx):
    """A transaction."""

    __slots__ = ("_db",)

    def __init__(self, db: Connection, caller: Caller) -> None:
        super().__init__(caller)
        self._db = db

    select_one = PostgresRows.select_one
    select_all = PostgresRows.select_all

    def write(self, query: Query, values: dict[str, Any]) -> int:
        """Run a writing statement and return how many rows it changed."""
        return self._db.execute(query.postgres.encode(), _storable(values)).rowcount

    def many(self, query: Query, rows: Iterable[dict[str, Any]]) -> None:
        """Run a writing statement once for each of many rows."""
        with self._db.cursor() as cursor:
            cursor.executemany(query.postgres.encode(), map(_storable, rows))


def _storable(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values without NUL characters, which PostgreSQL does not store in text."""
    return {name: value.replace("\0", "") if isinstance(value, str) else value for name, value in values.items()}


class PostgresStore(Store):
    """The store in PostgreSQL, which several homes can share."""

    kind = "postgresql"

    def __init__(self, url: str, funnel: Funnel, *, wait: float, schema: int) -> None:
        super().__init__(funnel)
        self._url = url
        self._wait = wait
        self._schema = schema
        self._in_doubt = False
        self._db = connect(url)

    def read(self, work: Callable[[Rows], T]) -> T:
        """Call `work` with one snapshot of the database, and return its result."""
        self._refuse_after_fork()
        try:
            self._start("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            return work(PostgresRows(self._db))
        except psycopg.Error as error:
            raise self._translated(error, "read") from error
        finally:
            self._undo()

    def close(self) -> None:
        """Close the connection."""
        self._db.close()

    def transact(self, why: str, work: Callable[[Tx], T], by: Caller, *request: object) -> T:
        """Run a transaction as `Store.transact` says.

        When the connection breaks during the commit, ask the server whether the transaction was committed. If it was,
        return its result; if not, raise StoreUnreachable. Raise OutcomeUnknown when the server does not answer.
        """
        try:
            return super().transact(why, work, by, *request)
        except errors.StoreUnreachable:
            found = self._outcome(why, by) if self._in_doubt else None
            if found is None or found.request != fingerprint(why, request):
                raise
            return jsontext.loads(found.result)  # type: ignore[return-value]

    @property
    def is_in_doubt(self) -> bool:
        """Whether the connection broke during the last commit, so that it is unknown whether the commit was done."""
        return self._in_doubt and self._db.closed

    def open_shared_at_once(self) -> bool:
        """Begin nothing and return False, because every statement waits for the server."""
        return False

    def _outcome(self, why: str, by: Caller) -> q.OperationResult | None:
        """Return the operation that was committed under the key in `by`, with its result; None when none was.

        Take the writers' lock first, so that the lost commit cannot still be under way on the server. Raise
        OutcomeUnknown, with `why`, when the server does not answer.
        """
        try:
            self._begin()
            return q.operation_by_key(self._tx(by), key=by.key)
        except (errors.StoreBusy, errors.StoreError, psycopg.Error) as error:
            raise errors.OutcomeUnknown(url=without_password(self._url), doing=why, key=by.key) from error
        finally:
            self._undo()

    def _start(self, words: str) -> psycopg.Cursor[tuple[Any, ...]]:
        """Execute the statements that begin a transaction; reconnect first if the connection broke while idle."""
        try:
            return self._db.execute(words.encode())
        except psycopg.OperationalError:
            if not self._db.closed:
                raise
            self._db = connect(self._url)
            return self._db.execute(words.encode())

    def _begin(self) -> None:
        """Begin a transaction and wait for the writers' lock; raise StoreBusy when that takes too long."""
        self._in_doubt = False
        limit = max(1, int(self._wait * 1000))  # 0 would mean no limit
        try:
            said = self._start(
                f"BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL synchronous_commit = on; SET LOCAL lock_timeout = {limit}; "
                f"SET LOCAL idle_in_transaction_session_timeout = 60000; {_TURN}"
            )
        except psycopg.Error as error:
            self._undo()
            raise self._translated(error, "begin") from error
        self._refuse_newer(said)

    def _tx(self, by: Caller) -> Tx:
        return PostgresTx(self._db, by)

    def _execute(self, words: str) -> None:
        self._db.execute(words.encode())

    def _is_in_transaction(self) -> bool:
        return self._db.info.transaction_status in {
            psycopg.pq.TransactionStatus.INTRANS,
            psycopg.pq.TransactionStatus.INERROR,
        }

    def _refuse_newer(self, said: psycopg.Cursor[tuple[Any, ...]]) -> None:
        """Roll back and raise StoreNewer when a newer fleet has migrated the database since it was opened.

        `said` has the results of the statements that began the transaction; the last one is the database's schema
        version.
        """
        while said.nextset():
            pass
        found = (said.fetchone() or (0,))[0]
        if found > self._schema:
            self._undo()
            raise errors.StoreNewer(path=without_password(self._url), found=found, known=self._schema, program=VERSION)

    def _commit(self) -> None:
        self._in_doubt = not self._db.closed  # what broke before the commit was not committed
        self._db.execute("COMMIT")
        self._in_doubt = False

    def _undo(self) -> None:
        try:
            if self._db.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
                self._db.execute("ROLLBACK")
        except psycopg.Error:
            pass  # the connection is gone, and the transaction with it

    def _end(self) -> None:
        """Do nothing: the writers' lock was released with the transaction."""

    def _translated(self, error: BaseException, doing: str) -> BaseException:
        """Return fleet's error for an error of psycopg, any other error unchanged. `doing` says what failed."""
        if not isinstance(error, psycopg.Error):
            return error
        if self._db.closed:
            return errors.StoreUnreachable(url=without_password(self._url), why=_first_line(error))
        return fleet_error(error, self._url, doing, self._wait)


def fleet_error(error: psycopg.Error, url: str, doing: str, wait: float) -> errors.FleetError:
    """Return fleet's error for an error of psycopg.

    `doing` says what failed; `wait` is how many seconds the connection waits for a lock.
    """
    why = _first_line(error)
    if isinstance(error, psycopg.IntegrityError):
        return errors.InvariantBroken(doing=doing, why=why)
    if isinstance(error, _BUSY):
        return errors.StoreBusy(holder="another writer", seconds=wait)
    if isinstance(error, _UNWRITABLE):
        return errors.WriteFailed(path=without_password(url), why=why)
    if isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError)):
        return errors.StoreUnreachable(url=without_password(url), why=why)
    return errors.InvariantBroken(doing=doing, why=why)


def _first_line(error: psycopg.Error) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__


def without_password(url: str) -> str:
    """Return an address as `postgresql://HOST/DATABASE`, without password; `postgresql` when it cannot be parsed."""
    parts = _parts(url)
    return f"postgresql://{parts.get('host', 'localhost')}/{parts.get('dbname', '')}" if parts else "postgresql"


def _parts(url: str) -> dict[str, Any]:
    """Return the parts of a database's address; {} when it is malformed, for example with a slash in its password."""
    try:
        parts = psycopg.conninfo.conninfo_to_dict(url)
    except psycopg.Error:
        return {}
    well = (
        str(parts.get("port", "1")).replace(",", "").isdigit()
        and "@" not in f"{parts.get('host')}{parts.get('dbname')}"
    )
    return parts if well else {}


def _why_no_connection(error: psycopg.Error, url: str) -> str:
    """Return why connecting failed, as text.

    For an address that the driver cannot parse, the driver's message is left out, because it may contain the password.
    """
    return (
        _first_line(error) if _parts(url) else "the driver cannot read the address; are its special characters escaped?"
    )


def connect(url: str) -> Connection:
    """Return a connection to the schema `fleet` of a database; raise StoreUnreachable when connecting fails."""
    try:
        return psycopg.connect(url, autocommit=True, options="-c search_path=fleet", connect_timeout=10)
    except psycopg.Error as error:
        raise errors.StoreUnreachable(url=without_password(url), why=_why_no_connection(error, url)) from None


def open_postgres(
    url: str,
    funnel: Funnel,
    *,
    wait: float,
    migrations: tuple[Migration, ...] = MIGRATIONS,
    had: errors.StoreGone | None = None,
) -> Store:
    """Open the store at an address; create or migrate its tables if needed.

    `had` is the error to raise when the tables are missing although the home had them before; with None, missing tables
    are created. `wait` is how many seconds each transaction waits for a lock.
    """
    with connect(url) as db:
        try:
            found = _schema_version(db)
            if not found and had is not None:
                raise errors.StoreGone(**{**had.facts, "store": f"the schema fleet of {without_password(url)}"})
            if found != migrations[-1].number:
                _migrate_schema(db, url, migrations)
        except psycopg.Error as error:
            raise fleet_error(error, url, "migrate", wait) from error
    return PostgresStore(url, funnel, wait=wait, schema=migrations[-1].number)


def _schema_version(db: Connection) -> int:
    """Return the number of the last migration in the database; 0 when the schema does not exist."""
    there = db.execute("SELECT to_regclass('fleet.schema_version') AS found").fetchone()
    if there is None or there[0] is None:
        return 0
    row = db.execute("SELECT version FROM fleet.schema_version").fetchone()
    return int(row[0]) if row else 0


def _migrate_schema(db: Connection, url: str, migrations: tuple[Migration, ...]) -> None:
    """Back up the tables and migrate the schema, in one transaction that holds the writers' lock. Other processes wait.

    Raise StoreNewer when a newer fleet has migrated the database.
    """
    with db.transaction():
        db.execute("SELECT pg_advisory_xact_lock(%s)", (_MIGRATION_LOCK,))
        found, known = _schema_version(db), migrations[-1].number
        if found > known:
            raise errors.StoreNewer(path=without_password(url), found=found, known=known, program=VERSION)
        if found == known:
            return  # another process has migrated it meanwhile
        if found:
            db.execute("LOCK TABLE fleet.writer IN EXCLUSIVE MODE")
            _backup_tables(db, found)
        db.execute("CREATE SCHEMA IF NOT EXISTS fleet")
        for migration in migrations:
            if migration.number > found:
                for statement in migration.postgres_statements():
                    db.execute(statement.encode())
        db.execute("DROP TABLE IF EXISTS fleet.schema_version")
        db.execute(f"CREATE TABLE fleet.schema_version AS SELECT {known}::int AS version".encode())


def _backup_tables(db: Connection, version: int) -> None:
    """Copy every table into a new schema on the server, whose name has the schema `version` and the time."""
    name = f"fleet_backup_schema{version}_{Clock().now()}"
    db.execute(f"CREATE SCHEMA {name}".encode())
    for (table,) in db.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'fleet' ORDER BY 1").fetchall():
        db.execute(f"CREATE TABLE {name}.{table} AS TABLE fleet.{table}".encode())
