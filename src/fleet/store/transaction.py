"""Transactions, the same in both databases.

A transaction has a reason and one operation, and commits as a whole or changes nothing. There is one writer at a time,
so what `work` has read is still true when it writes.
"""

from __future__ import annotations

from os import getpid

from fleet import errors
from fleet.fast import blake2s
from fleet.model.text import jsontext
from fleet.store import queries as q

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, Generic, Protocol, TypeVar

    from fleet.model.agents.actors import Caller
    from fleet.store import row
    from fleet.store.row import Query
    from fleet.world.funnel import Funnel

    R = TypeVar("R", bound=row.Row)
    T = TypeVar("T")
    T_co = TypeVar("T_co", covariant=True)

    class _Returning(Generic[T]):
        __slots__ = ()

    class _Remade(Protocol[T_co]):
        """A class of values that can be made again from JSON."""

        def from_json(self, given: Any) -> T_co: ...  # noqa: ANN401

else:
    # While fleet runs, Change inherits from this class instead of Generic: importing typing would take too long.
    T = None

    class _Returning:
        __slots__ = ()
        __class_getitem__ = classmethod(lambda cls, _returned: cls)


class Rows:
    """A snapshot of the database for reading. The generated functions in queries/ call its methods."""

    __slots__ = ()

    def select_one(self, query: Query, row: type[R], values: dict[str, Any]) -> R | None:
        """Return the first row of a query; None when there is none."""
        raise NotImplementedError

    def select_all(self, query: Query, row: type[R], values: dict[str, Any]) -> list[R]:
        """Return all rows of a query."""
        raise NotImplementedError

    def select_exactly_one(self, query: Query, row: type[R], values: dict[str, Any]) -> R:
        """Return the row of a query that always returns exactly one."""
        found = self.select_one(query, row, values)
        assert found is not None, query.name  # noqa: S101 - `make sql` sees to it
        return found


class Tx(Rows):
    """A transaction, for reading and writing.

    `dispatch`, `project`, `slug` and `what` are written into its operation: what the operation is about, and facts.
    `seq` is the operation's sequence number. `dispatch` is the caller's, unless the work sets another one.
    """

    __slots__ = ("caller", "dispatch", "project", "seq", "slug", "what")

    def __init__(self, caller: Caller) -> None:
        self.caller = caller
        self.dispatch: str | None = caller.dispatch
        self.project: str | None = None
        self.slug: str | None = None
        self.what: dict[str, object] = {}
        self.seq = 0

    @property
    def at(self) -> int:
        """Return the time of the request, in milliseconds since 1970."""
        return self.caller.at

    def about(self, project: str, slug: str | None = None) -> None:
        """Set the project and task of this transaction's operation; None for no task."""
        self.project = project
        self.slug = slug

    def note(self, **what: object) -> None:
        """Add facts to this transaction's operation."""
        self.what.update(what)

    def write(self, query: Query, values: dict[str, Any]) -> int:
        """Run a writing statement and return how many rows it changed."""
        raise NotImplementedError

    def many(self, query: Query, rows: Iterable[dict[str, Any]]) -> None:
        """Run a writing statement once for each of many rows."""
        raise NotImplementedError


class Change(_Returning[T]):
    """A change that a verb wants committed: the reason (`why`), the work to do in one transaction, and the exact request.

    `returns` is the class of the work's result, None for plain JSON: when a request is repeated with its idempotency
    key, the result is made from the JSON stored the first time.
    """

    __slots__ = ("request", "returns", "why", "work")

    def __init__(self, why: str, work: Callable[[Tx], T], *request: object, returns: _Remade[T] | None = None) -> None:
        self.why = why
        self.work = work
        self.request = request
        self.returns = returns


class SharedBroken(Exception):
    """Raised when a transaction that several requests share was lost, so that each request has to be repeated alone."""


def fingerprint(why: str, request: tuple[object, ...]) -> str:
    """Return a short hash of a request, to detect an idempotency key that was used for another request."""
    return blake2s(repr((why, _as_tuples(request))).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _as_tuples(value: object) -> object:
    """Return a value with its lists turned into tuples: a request from JSON has lists where a direct one has tuples."""
    return tuple(map(_as_tuples, value)) if type(value) is tuple or type(value) is list else value


def _fence_speaker(tx: Tx) -> None:
    """Raise an error when the calling dispatch may not change anything any more.

    SpeakerEnded when it is archived. NotSeated when it is a launched coordinator that does not hold its seat, or a
    coordinator that was a duty of the daemon and has ended.
    """
    if tx.caller.dispatch is None:
        return
    stale = q.stale_speaker(tx, id=tx.caller.dispatch)
    if stale is not None and stale.project is None:
        raise errors.SpeakerEnded(dispatch=tx.caller.dispatch)
    if stale is not None:
        raise errors.NotSeated(project=stale.project, dispatch=tx.caller.dispatch, holder=stale.holder or "nobody")


class Store:
    """The interface of a database. A store must not be used after a fork, nor by two threads at once."""

    kind = ""

    def __init__(self, funnel: Funnel) -> None:
        self._funnel = funnel
        self._process = getpid()

    def transact(self, why: str, work: Callable[[Tx], T], by: Caller, *request: object) -> T:
        """Call `work` in one transaction, write one operation, commit, and return the result of `work`.

        When `work` raises an error, nothing is changed. The operation is stored under the idempotency key in `by`, with
        `why` and a fingerprint of `request`. When the key was used before for the same request, `work` is not called,
        and the stored result is returned; for another request raise KeyReused.
        """
        self._refuse_after_fork()
        self._funnel.refuse_in_transaction(f"transaction {why!r}")
        self._begin()
        tx = self._tx(by)
        self._funnel.shut(why)
        try:
            is_new, result = self._perform(tx, why, work, request)
            if is_new:
                self._funnel.commit(why, self._commit)
            else:
                self._undo()
        except BaseException as error:
            self._undo()
            known = self._translated(error, why)
            if known is error:
                raise
            raise known from error
        finally:
            self._funnel.reopen()
            self._end()
        return result

    # several requests in one synced transaction: see surfaces/daemon/writer.py ----------------------------------------
    def open_shared(self) -> None:
        """Begin a transaction that several requests share; `close_shared` ends it.

        Until it ends, this thread may not perform effects outside the database.
        """
        self._refuse_after_fork()
        self._funnel.refuse_in_transaction("shared transaction")
        self._begin()
        self._funnel.shut("shared transaction")

    def open_shared_at_once(self) -> bool:
        """Begin a shared transaction as `open_shared` does, if that needs no waiting; return whether it was begun.

        Always False when the database is a server.
        """
        raise NotImplementedError

    def transact_within(self, why: str, work: Callable[[Tx], T], by: Caller, *request: object) -> T:
        """Call `work` for one request in the shared transaction, and return its result, as `transact` does.

        Nothing is committed yet. When `work` raises an error, only the changes of this request are undone.

        Raise SharedBroken when the whole transaction is lost: the connection broke, or the disk is full.
        """
        self._execute("SAVEPOINT request")
        try:
            _is_new, result = self._perform(self._tx(by), why, work, request)
        except BaseException as error:
            self._undo_request(error)
            known = self._translated(error, why)
            if known is error:
                raise
            raise known from error
        self._execute("RELEASE SAVEPOINT request")
        return result

    def read_within(self, work: Callable[[Rows], T], by: Caller) -> T:
        """Call `work` with the shared transaction for reading, and return its result."""
        return work(self._tx(by))

    def close_shared(self, why: str, *, commit: bool) -> None:
        """Commit the shared transaction, with the reason `why`; without `commit`, undo all of it.

        When this raises an error, nothing was committed; but when `is_in_doubt` is true, nobody knows whether it was.
        """
        try:
            if commit:
                self._funnel.commit(why, self._commit)
        except BaseException as error:
            known = self._translated(error, why)
            if known is error:
                raise
            raise known from error
        finally:
            self._undo()
            self._funnel.reopen()
            self._end()

    @property
    def is_in_doubt(self) -> bool:
        """Whether the connection broke during the last commit, so that it is unknown whether the commit was done."""
        return False

    def _undo_request(self, error: BaseException) -> None:
        """Undo the changes of one request, which failed with `error`, in the shared transaction.

        Raise SharedBroken when the whole transaction is lost.
        """
        if self._is_in_transaction():
            try:
                self._execute("ROLLBACK TO SAVEPOINT request")
                self._execute("RELEASE SAVEPOINT request")
            except Exception:  # noqa: BLE001 - whatever the driver raises, the transaction cannot go on
                raise SharedBroken from error
            return
        raise SharedBroken from error

    def read(self, work: Callable[[Rows], T]) -> T:
        """Call `work` with one snapshot of the database, and return its result. Does not block writers."""
        raise NotImplementedError

    def close(self) -> None:
        """Close the database."""
        raise NotImplementedError

    def _perform(self, tx: Tx, why: str, work: Callable[[Tx], T], request: tuple[object, ...]) -> tuple[bool, T]:
        """Call `work` and write its operation, in the open transaction.

        Return (True, the result), or (False, the stored result) when the key was used before for the same request. Raise
        KeyReused when the key was used for another request.
        """
        asked = fingerprint(why, request)
        head = q.next_operation(tx, key=tx.caller.key)
        tx.seq = head.seq
        if head.why is not None and head.result is not None:
            if head.request != asked:
                raise errors.KeyReused(key=tx.caller.key, why=head.why)
            return False, jsontext.loads(head.result)  # type: ignore[return-value]
        _fence_speaker(tx)
        result = work(tx)
        self._write_operation(tx, why, asked, result)
        return True, result

    def _write_operation(self, tx: Tx, why: str, asked: str, result: object) -> None:
        """Write the row of this transaction's operation, with the request's fingerprint (`asked`) and the result."""
        q.write_operation(
            tx,
            seq=tx.seq,
            key=tx.caller.key,
            at=tx.caller.at,
            actor=tx.caller.actor,
            why=why,
            request=asked,
            project=tx.project,
            slug=tx.slug,
            dispatch=tx.dispatch,
            what=jsontext.dumps(tx.what),
            result=jsontext.dumps(result),
        )

    def _refuse_after_fork(self) -> None:
        """Raise RuntimeError in a forked child, which must open the store again."""
        if getpid() != self._process:
            msg = "this store was opened by the parent process; open it again in the child"
            raise RuntimeError(msg)

    def _begin(self) -> None:
        """Wait for the writers' lock and begin a transaction."""
        raise NotImplementedError

    def _tx(self, by: Caller) -> Tx:
        """Return an object for the open transaction, in which the caller `by` acts."""
        raise NotImplementedError

    def _execute(self, words: str) -> None:
        """Run a statement without parameters."""
        raise NotImplementedError

    def _is_in_transaction(self) -> bool:
        raise NotImplementedError

    def _commit(self) -> None:
        raise NotImplementedError

    def _undo(self) -> None:
        """Roll the transaction back, if one is open. Never raises."""
        raise NotImplementedError

    def _end(self) -> None:
        """Release the writers' lock."""
        raise NotImplementedError

    def _translated(self, error: BaseException, doing: str) -> BaseException:
        """Return fleet's error for an error of the driver, any other error unchanged. `doing` says what failed."""
        raise NotImplementedError
