"""The queries of sql/operations.sql, compiled by `make sql`. Do not edit."""

from __future__ import annotations

from fleet.store.queries.shared import Count
from fleet.store.row import Query, Row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.store.transaction import Rows, Tx


class OperationResult(Row):
    __slots__ = (
        'why',
        'request',
        'result',
    )

    def __init__(
        self,
        why: str,
        request: str,
        result: str,
    ) -> None:
        self.why = why
        self.request = request
        self.result = result


class OperationWhy(Row):
    __slots__ = (
        'why',
    )

    def __init__(
        self,
        why: str,
    ) -> None:
        self.why = why


class LastOperation(Row):
    __slots__ = (
        'seq',
    )

    def __init__(
        self,
        seq: int,
    ) -> None:
        self.seq = seq


class Operation(Row):
    __slots__ = (
        'seq',
        'at',
        'actor',
        'why',
        'project',
        'slug',
        'dispatch',
        'what',
    )

    def __init__(
        self,
        seq: int,
        at: int,
        actor: str,
        why: str,
        project: str | None,
        slug: str | None,
        dispatch: str | None,
        what: str,
    ) -> None:
        self.seq = seq
        self.at = at
        self.actor = actor
        self.why = why
        self.project = project
        self.slug = slug
        self.dispatch = dispatch
        self.what = what


class LastAct(Row):
    __slots__ = (
        'at',
    )

    def __init__(
        self,
        at: int | None,
    ) -> None:
        self.at = at


class OperationWhat(Row):
    __slots__ = (
        'what',
    )

    def __init__(
        self,
        what: str,
    ) -> None:
        self.what = what


class WholeOperation(Row):
    __slots__ = (
        'seq',
        'key',
        'at',
        'actor',
        'why',
        'request',
        'project',
        'slug',
        'dispatch',
        'what',
        'result',
    )

    def __init__(
        self,
        seq: int,
        key: str,
        at: int,
        actor: str,
        why: str,
        request: str,
        project: str | None,
        slug: str | None,
        dispatch: str | None,
        what: str,
        result: str,
    ) -> None:
        self.seq = seq
        self.key = key
        self.at = at
        self.actor = actor
        self.why = why
        self.request = request
        self.project = project
        self.slug = slug
        self.dispatch = dispatch
        self.what = what
        self.result = result


class OperationSeq(Row):
    __slots__ = (
        'seq',
    )

    def __init__(
        self,
        seq: int,
    ) -> None:
        self.seq = seq


class OperationKey(Row):
    __slots__ = (
        'key',
    )

    def __init__(
        self,
        key: str,
    ) -> None:
        self.key = key


OPERATION_BY_KEY = Query(
    'operation_by_key',
    'SELECT why, request, result FROM operations WHERE key = :key',
    'SELECT why, request, result FROM operations WHERE key = %(key)s',
    OperationResult,
)


def operation_by_key(rows: Rows, /, *, key: str) -> OperationResult | None:
    """The stored result of a request, if it was committed."""
    return rows.select_one(OPERATION_BY_KEY, OperationResult, {'key': key})


OPERATIONS_OF_INVOCATION = Query(
    'operations_of_invocation',
    'SELECT why FROM operations WHERE substr(key, 1, length(CAST(:beginning AS TEXT))) = :beginning ORDER BY seq',
    'SELECT why FROM operations WHERE substr(key, 1, length(CAST(%(beginning)s AS TEXT))) = %(beginning)s ORDER BY seq',
    OperationWhy,
)


def operations_of_invocation(rows: Rows, /, *, beginning: str | None) -> list[OperationWhy]:
    """What the steps of one invocation have committed, oldest first: their keys begin with its key and a colon."""
    return rows.select_all(OPERATIONS_OF_INVOCATION, OperationWhy, {'beginning': beginning})


FIRST_OPERATION = Query(
    'first_operation',
    'SELECT COALESCE(MIN(seq), 0) AS seq FROM operations',
    'SELECT COALESCE(MIN(seq), 0) AS seq FROM operations',
    LastOperation,
)


def first_operation(rows: Rows, /) -> LastOperation:
    """The smallest sequence number of an operation that is still in the database; 0 when there is none."""
    return rows.select_exactly_one(FIRST_OPERATION, LastOperation, {})


LAST_OPERATION = Query(
    'last_operation',
    'SELECT COALESCE(MAX(seq), 0) AS seq FROM operations',
    'SELECT COALESCE(MAX(seq), 0) AS seq FROM operations',
    LastOperation,
)


def last_operation(rows: Rows, /) -> LastOperation:
    """The largest sequence number of an operation; 0 when there is none."""
    return rows.select_exactly_one(LAST_OPERATION, LastOperation, {})


OPERATIONS_AFTER = Query(
    'operations_after',
    'SELECT seq, at, actor, why, project, slug, dispatch, what FROM operations WHERE seq > :after AND seq <= :until ORDER BY seq LIMIT :most',
    'SELECT seq, at, actor, why, project, slug, dispatch, what FROM operations WHERE seq > %(after)s AND seq <= %(until)s ORDER BY seq LIMIT %(most)s',
    Operation,
)


def operations_after(rows: Rows, /, *, after: int, until: int, most: int) -> list[Operation]:
    """Operations after a sequence number, oldest first."""
    return rows.select_all(OPERATIONS_AFTER, Operation, {'after': after, 'until': until, 'most': most})


OPERATIONS_OF_TASK = Query(
    'operations_of_task',
    'SELECT seq, at, actor, why, project, slug, dispatch, what FROM operations WHERE project = :project AND slug = :slug AND seq <= :until AND at >= :since AND at <= :before AND (CAST(:actor AS TEXT) IS NULL OR actor = :actor) ORDER BY seq DESC LIMIT :most',
    'SELECT seq, at, actor, why, project, slug, dispatch, what FROM operations WHERE project = %(project)s AND slug = %(slug)s AND seq <= %(until)s AND at >= %(since)s AND at <= %(before)s AND (CAST(%(actor)s AS TEXT) IS NULL OR actor = %(actor)s) ORDER BY seq DESC LIMIT %(most)s',
    Operation,
)


def operations_of_task(rows: Rows, /, *, project: str, slug: str, until: int, since: int, before: int, actor: str | None, most: int) -> list[Operation]:
    """Operations about one task, newest first."""
    return rows.select_all(OPERATIONS_OF_TASK, Operation, {'project': project, 'slug': slug, 'until': until, 'since': since, 'before': before, 'actor': actor, 'most': most})


OPERATIONS_OF_DISPATCH = Query(
    'operations_of_dispatch',
    'SELECT seq, at, actor, why, project, slug, dispatch, what FROM operations WHERE dispatch = :dispatch AND seq <= :until AND at >= :since AND at <= :before AND (CAST(:actor AS TEXT) IS NULL OR actor = :actor) AND (CAST(:project AS TEXT) IS NULL OR project = :project) AND (CAST(:slug AS TEXT) IS NULL OR slug = :slug) ORDER BY seq DESC LIMIT :most',
    'SELECT seq, at, actor, why, project, slug, dispatch, what FROM operations WHERE dispatch = %(dispatch)s AND seq <= %(until)s AND at >= %(since)s AND at <= %(before)s AND (CAST(%(actor)s AS TEXT) IS NULL OR actor = %(actor)s) AND (CAST(%(project)s AS TEXT) IS NULL OR project = %(project)s) AND (CAST(%(slug)s AS TEXT) IS NULL OR slug = %(slug)s) ORDER BY seq DESC LIMIT %(most)s',
    Operation,
)


def operations_of_dispatch(rows: Rows, /, *, dispatch: str, until: int, since: int, before: int, actor: str | None, project: str | None, slug: str | None, most: int) -> list[Operation]:
    """Operations by or about one dispatch, newest first."""
    return rows.select_all(OPERATIONS_OF_DISPATCH, Operation, {'dispatch': dispatch, 'until': until, 'since': since, 'before': before, 'actor': actor, 'project': project, 'slug': slug, 'most': most})


LAST_ACT = Query(
    'last_act',
    'SELECT MAX(at) AS at FROM operations WHERE dispatch = :dispatch AND actor = :dispatch',
    'SELECT MAX(at) AS at FROM operations WHERE dispatch = %(dispatch)s AND actor = %(dispatch)s',
    LastAct,
)


def last_act(rows: Rows, /, *, dispatch: str) -> LastAct:
    """When an agent last did something itself that was recorded: a log line, an artifact, a report of a hook."""
    return rows.select_exactly_one(LAST_ACT, LastAct, {'dispatch': dispatch})


OPERATIONS_BY_WHY = Query(
    'operations_by_why',
    'SELECT what FROM operations WHERE dispatch = :dispatch AND why = :why ORDER BY seq',
    'SELECT what FROM operations WHERE dispatch = %(dispatch)s AND why = %(why)s ORDER BY seq',
    OperationWhat,
)


def operations_by_why(rows: Rows, /, *, dispatch: str, why: str) -> list[OperationWhat]:
    """The facts of operations about one dispatch with the same reason, oldest first."""
    return rows.select_all(OPERATIONS_BY_WHY, OperationWhat, {'dispatch': dispatch, 'why': why})


OPERATIONS_MATCHING = Query(
    'operations_matching',
    'SELECT seq, at, actor, why, project, slug, dispatch, what FROM operations WHERE seq <= :until AND at >= :since AND at <= :before AND (CAST(:actor AS TEXT) IS NULL OR actor = :actor) AND (CAST(:project AS TEXT) IS NULL OR project = :project) ORDER BY seq DESC LIMIT :most',
    'SELECT seq, at, actor, why, project, slug, dispatch, what FROM operations WHERE seq <= %(until)s AND at >= %(since)s AND at <= %(before)s AND (CAST(%(actor)s AS TEXT) IS NULL OR actor = %(actor)s) AND (CAST(%(project)s AS TEXT) IS NULL OR project = %(project)s) ORDER BY seq DESC LIMIT %(most)s',
    Operation,
)


def operations_matching(rows: Rows, /, *, until: int, since: int, before: int, actor: str | None, project: str | None, most: int) -> list[Operation]:
    """Operations of all or one project, newest first."""
    return rows.select_all(OPERATIONS_MATCHING, Operation, {'until': until, 'since': since, 'before': before, 'actor': actor, 'project': project, 'most': most})


OPERATIONS_TO_ROTATE = Query(
    'operations_to_rotate',
    'SELECT seq, key, at, actor, why, request, project, slug, dispatch, what, result FROM operations WHERE seq < COALESCE((SELECT MIN(seq) FROM operations WHERE at >= :before), 9223372036854775807) AND seq < (SELECT MAX(seq) FROM operations) ORDER BY seq LIMIT :most',
    'SELECT seq, key, at, actor, why, request, project, slug, dispatch, what, result FROM operations WHERE seq < COALESCE((SELECT MIN(seq) FROM operations WHERE at >= %(before)s), 9223372036854775807) AND seq < (SELECT MAX(seq) FROM operations) ORDER BY seq LIMIT %(most)s',
    WholeOperation,
)


def operations_to_rotate(rows: Rows, /, *, before: int, most: int) -> list[WholeOperation]:
    """The oldest operations before a time, in full and without a gap, because clocks step back and sequence numbers do not. Never the newest one: it keeps the sequence going."""
    return rows.select_all(OPERATIONS_TO_ROTATE, WholeOperation, {'before': before, 'most': most})


OPERATION_SINCE = Query(
    'operation_since',
    'SELECT seq FROM operations WHERE project = :project AND seq > :after LIMIT 1',
    'SELECT seq FROM operations WHERE project = %(project)s AND seq > %(after)s LIMIT 1',
    OperationSeq,
)


def operation_since(rows: Rows, /, *, project: str, after: int) -> OperationSeq | None:
    """Whether a project has an operation after a sequence number."""
    return rows.select_one(OPERATION_SINCE, OperationSeq, {'project': project, 'after': after})


OPERATION_KEYS = Query(
    'operation_keys',
    'SELECT key FROM operations WHERE seq >= :first AND seq <= :last',
    'SELECT key FROM operations WHERE seq >= %(first)s AND seq <= %(last)s',
    OperationKey,
)


def operation_keys(rows: Rows, /, *, first: int, last: int) -> list[OperationKey]:
    """The keys of the operations from one sequence number to another."""
    return rows.select_all(OPERATION_KEYS, OperationKey, {'first': first, 'last': last})


FORGET_OPERATIONS = Query(
    'forget_operations',
    'DELETE FROM operations WHERE seq >= :first AND seq <= :last',
    'DELETE FROM operations WHERE seq >= %(first)s AND seq <= %(last)s',
    None,
)


def forget_operations(tx: Tx, /, *, first: int, last: int) -> int:
    """Delete operations that were written to the archive."""
    return tx.write(FORGET_OPERATIONS, {'first': first, 'last': last})


COUNT_OPERATIONS = Query(
    'count_operations',
    'SELECT COUNT(*) AS n FROM operations',
    'SELECT COUNT(*) AS n FROM operations',
    Count,
)


def count_operations(rows: Rows, /) -> Count:
    """How many operations are in the database."""
    return rows.select_exactly_one(COUNT_OPERATIONS, Count, {})
