"""The queries of sql/usage.sql, compiled by `make sql`. Do not edit."""

from __future__ import annotations

from fleet.store.row import Query, Row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.states import BudgetScope
    from fleet.store.transaction import Rows, Tx


class UsageFile(Row):
    __slots__ = (
        'path',
        'position',
        'model',
        'record',
        'input',
        'output',
        'cache_read',
        'cache_write',
        'at',
    )

    def __init__(
        self,
        path: str,
        position: int,
        model: str,
        record: str,
        input: int,
        output: int,
        cache_read: int,
        cache_write: int,
        at: int,
    ) -> None:
        self.path = path
        self.position = position
        self.model = model
        self.record = record
        self.input = input
        self.output = output
        self.cache_read = cache_read
        self.cache_write = cache_write
        self.at = at


class DispatchUsage(Row):
    __slots__ = (
        'dispatch',
        'tokens',
        'cost',
        'unpriced',
    )

    def __init__(
        self,
        dispatch: str,
        tokens: int,
        cost: int,
        unpriced: int,
    ) -> None:
        self.dispatch = dispatch
        self.tokens = tokens
        self.cost = cost
        self.unpriced = unpriced


class Used(Row):
    __slots__ = (
        'tokens',
        'cost',
        'unpriced',
    )

    def __init__(
        self,
        tokens: int,
        cost: int,
        unpriced: int,
    ) -> None:
        self.tokens = tokens
        self.cost = cost
        self.unpriced = unpriced


class Allowance(Row):
    __slots__ = (
        'cost',
    )

    def __init__(
        self,
        cost: int,
    ) -> None:
        self.cost = cost


USAGE_FILE = Query(
    'usage_file',
    'SELECT * FROM usage_files WHERE path = :path',
    'SELECT * FROM usage_files WHERE path = %(path)s',
    UsageFile,
)


def usage_file(rows: Rows, /, *, path: str) -> UsageFile | None:
    """How far a conversation's file was read."""
    return rows.select_one(USAGE_FILE, UsageFile, {'path': path})


BEGIN_USAGE_FILE = Query(
    'begin_usage_file',
    'INSERT INTO usage_files (path, position, at) VALUES (:path, 0, :at) ON CONFLICT DO NOTHING',
    'INSERT INTO usage_files (path, position, at) VALUES (%(path)s, 0, %(at)s) ON CONFLICT DO NOTHING',
    None,
)


def begin_usage_file(tx: Tx, /, *, path: str, at: int) -> int:
    """Record a conversation's file, of which nothing was read yet."""
    return tx.write(BEGIN_USAGE_FILE, {'path': path, 'at': at})


MOVE_USAGE_FILE = Query(
    'move_usage_file',
    'UPDATE usage_files SET position = :position, model = :model, record = :record, input = :input, output = :output, cache_read = :cache_read, cache_write = :cache_write, at = :at WHERE path = :path AND position = :was',
    'UPDATE usage_files SET position = %(position)s, model = %(model)s, record = %(record)s, input = %(input)s, output = %(output)s, cache_read = %(cache_read)s, cache_write = %(cache_write)s, at = %(at)s WHERE path = %(path)s AND position = %(was)s',
    None,
)


def move_usage_file(tx: Tx, /, *, position: int, model: str, record: str, input: int, output: int, cache_read: int, cache_write: int, at: int, path: str, was: int) -> int:
    """Compare and set: record how far a conversation's file was read, so that only one of two readers counts the same records."""
    return tx.write(MOVE_USAGE_FILE, {'position': position, 'model': model, 'record': record, 'input': input, 'output': output, 'cache_read': cache_read, 'cache_write': cache_write, 'at': at, 'path': path, 'was': was})


FORGET_USAGE_FILE = Query(
    'forget_usage_file',
    'DELETE FROM usage_files WHERE path = :path',
    'DELETE FROM usage_files WHERE path = %(path)s',
    None,
)


def forget_usage_file(tx: Tx, /, *, path: str) -> int:
    """Delete the reading position of a path, or the row that stands for an agent's search for its conversation."""
    return tx.write(FORGET_USAGE_FILE, {'path': path})


ADD_USAGE = Query(
    'add_usage',
    'INSERT INTO usage (dispatch, model, day, project, slug, input, output, cache_read, cache_write, cost, unpriced, at) VALUES (:dispatch, :model, :day, :project, :slug, :input, :output, :cache_read, :cache_write, :cost, :unpriced, :at) ON CONFLICT (dispatch, model, day) DO UPDATE SET input = usage.input + excluded.input, output = usage.output + excluded.output, cache_read = usage.cache_read + excluded.cache_read, cache_write = usage.cache_write + excluded.cache_write, cost = usage.cost + excluded.cost, unpriced = usage.unpriced + excluded.unpriced, at = excluded.at',
    'INSERT INTO usage (dispatch, model, day, project, slug, input, output, cache_read, cache_write, cost, unpriced, at) VALUES (%(dispatch)s, %(model)s, %(day)s, %(project)s, %(slug)s, %(input)s, %(output)s, %(cache_read)s, %(cache_write)s, %(cost)s, %(unpriced)s, %(at)s) ON CONFLICT (dispatch, model, day) DO UPDATE SET input = usage.input + excluded.input, output = usage.output + excluded.output, cache_read = usage.cache_read + excluded.cache_read, cache_write = usage.cache_write + excluded.cache_write, cost = usage.cost + excluded.cost, unpriced = usage.unpriced + excluded.unpriced, at = excluded.at',
    None,
)


def add_usage(tx: Tx, /, *, dispatch: str, model: str, day: str, project: str, slug: str | None, input: int, output: int, cache_read: int, cache_write: int, cost: int, unpriced: int, at: int) -> int:
    """Add the tokens of some records to those counted before."""
    return tx.write(ADD_USAGE, {'dispatch': dispatch, 'model': model, 'day': day, 'project': project, 'slug': slug, 'input': input, 'output': output, 'cache_read': cache_read, 'cache_write': cache_write, 'cost': cost, 'unpriced': unpriced, 'at': at})


USED_BY_DISPATCH = Query(
    'used_by_dispatch',
    "SELECT u.dispatch, CAST(SUM(u.input + u.output + u.cache_read + u.cache_write) AS BIGINT) AS tokens, CAST(SUM(u.cost) AS BIGINT) AS cost, CAST(SUM(u.unpriced) AS BIGINT) AS unpriced FROM usage u JOIN dispatches d ON d.id = u.dispatch WHERE d.exec_state IN ('pending', 'in_flight') GROUP BY u.dispatch",
    "SELECT u.dispatch, CAST(SUM(u.input + u.output + u.cache_read + u.cache_write) AS BIGINT) AS tokens, CAST(SUM(u.cost) AS BIGINT) AS cost, CAST(SUM(u.unpriced) AS BIGINT) AS unpriced FROM usage u JOIN dispatches d ON d.id = u.dispatch WHERE d.exec_state IN ('pending', 'in_flight') GROUP BY u.dispatch",
    DispatchUsage,
)


def used_by_dispatch(rows: Rows, /) -> list[DispatchUsage]:
    """What each of the unfinished dispatches has used."""
    return rows.select_all(USED_BY_DISPATCH, DispatchUsage, {})


USED_BY_TASK = Query(
    'used_by_task',
    'SELECT CAST(COALESCE(SUM(input + output + cache_read + cache_write), 0) AS BIGINT) AS tokens, CAST(COALESCE(SUM(cost), 0) AS BIGINT) AS cost, CAST(COALESCE(SUM(unpriced), 0) AS BIGINT) AS unpriced FROM usage WHERE project = :project AND slug = :slug',
    'SELECT CAST(COALESCE(SUM(input + output + cache_read + cache_write), 0) AS BIGINT) AS tokens, CAST(COALESCE(SUM(cost), 0) AS BIGINT) AS cost, CAST(COALESCE(SUM(unpriced), 0) AS BIGINT) AS unpriced FROM usage WHERE project = %(project)s AND slug = %(slug)s',
    Used,
)


def used_by_task(rows: Rows, /, *, project: str, slug: str) -> Used:
    """What all attempts at a task have used."""
    return rows.select_exactly_one(USED_BY_TASK, Used, {'project': project, 'slug': slug})


USED_BEFORE_HANDOFFS = Query(
    'used_before_handoffs',
    'SELECT CAST(COALESCE(SUM(input + output + cache_read + cache_write), 0) AS BIGINT) AS tokens, CAST(COALESCE(SUM(cost), 0) AS BIGINT) AS cost, CAST(COALESCE(SUM(unpriced), 0) AS BIGINT) AS unpriced FROM usage WHERE dispatch IN (SELECT dispatch FROM handoffs WHERE project = :project AND slug = :slug)',
    'SELECT CAST(COALESCE(SUM(input + output + cache_read + cache_write), 0) AS BIGINT) AS tokens, CAST(COALESCE(SUM(cost), 0) AS BIGINT) AS cost, CAST(COALESCE(SUM(unpriced), 0) AS BIGINT) AS unpriced FROM usage WHERE dispatch IN (SELECT dispatch FROM handoffs WHERE project = %(project)s AND slug = %(slug)s)',
    Used,
)


def used_before_handoffs(rows: Rows, /, *, project: str, slug: str) -> Used:
    """What the agents of a task for which a handoff was requested have used; a queued handoff counts, too."""
    return rows.select_exactly_one(USED_BEFORE_HANDOFFS, Used, {'project': project, 'slug': slug})


USED_BY_PROJECT = Query(
    'used_by_project',
    'SELECT CAST(COALESCE(SUM(input + output + cache_read + cache_write), 0) AS BIGINT) AS tokens, CAST(COALESCE(SUM(cost), 0) AS BIGINT) AS cost, CAST(COALESCE(SUM(unpriced), 0) AS BIGINT) AS unpriced FROM usage WHERE project = :project',
    'SELECT CAST(COALESCE(SUM(input + output + cache_read + cache_write), 0) AS BIGINT) AS tokens, CAST(COALESCE(SUM(cost), 0) AS BIGINT) AS cost, CAST(COALESCE(SUM(unpriced), 0) AS BIGINT) AS unpriced FROM usage WHERE project = %(project)s',
    Used,
)


def used_by_project(rows: Rows, /, *, project: str) -> Used:
    """What all agents of a project have used, its coordinators and jobs too."""
    return rows.select_exactly_one(USED_BY_PROJECT, Used, {'project': project})


USED_ON_DAY = Query(
    'used_on_day',
    'SELECT CAST(COALESCE(SUM(input + output + cache_read + cache_write), 0) AS BIGINT) AS tokens, CAST(COALESCE(SUM(cost), 0) AS BIGINT) AS cost, CAST(COALESCE(SUM(unpriced), 0) AS BIGINT) AS unpriced FROM usage WHERE day = :day',
    'SELECT CAST(COALESCE(SUM(input + output + cache_read + cache_write), 0) AS BIGINT) AS tokens, CAST(COALESCE(SUM(cost), 0) AS BIGINT) AS cost, CAST(COALESCE(SUM(unpriced), 0) AS BIGINT) AS unpriced FROM usage WHERE day = %(day)s',
    Used,
)


def used_on_day(rows: Rows, /, *, day: str) -> Used:
    """What all agents have used on a day."""
    return rows.select_exactly_one(USED_ON_DAY, Used, {'day': day})


USED_BY_AGENTS_SINCE = Query(
    'used_by_agents_since',
    'SELECT dispatch, CAST(SUM(input + output + cache_read + cache_write) AS BIGINT) AS tokens, CAST(SUM(cost) AS BIGINT) AS cost, CAST(SUM(unpriced) AS BIGINT) AS unpriced FROM usage WHERE at >= :since AND (CAST(:project AS TEXT) IS NULL OR project = :project) GROUP BY dispatch',
    'SELECT dispatch, CAST(SUM(input + output + cache_read + cache_write) AS BIGINT) AS tokens, CAST(SUM(cost) AS BIGINT) AS cost, CAST(SUM(unpriced) AS BIGINT) AS unpriced FROM usage WHERE at >= %(since)s AND (CAST(%(project)s AS TEXT) IS NULL OR project = %(project)s) GROUP BY dispatch',
    DispatchUsage,
)


def used_by_agents_since(rows: Rows, /, *, since: int, project: str | None) -> list[DispatchUsage]:
    """What each agent has used whose tokens were counted since a time."""
    return rows.select_all(USED_BY_AGENTS_SINCE, DispatchUsage, {'since': since, 'project': project})


ALLOWANCE_OF = Query(
    'allowance_of',
    'SELECT cost FROM allowances WHERE scope = :scope AND name = :name',
    'SELECT cost FROM allowances WHERE scope = %(scope)s AND name = %(name)s',
    Allowance,
)


def allowance_of(rows: Rows, /, *, scope: BudgetScope, name: str) -> Allowance | None:
    """How much a person has allowed beyond a budget."""
    return rows.select_one(ALLOWANCE_OF, Allowance, {'scope': scope, 'name': name})


ALLOW_COST = Query(
    'allow_cost',
    'INSERT INTO allowances (scope, name, cost, at) VALUES (:scope, :name, :cost, :at) ON CONFLICT (scope, name) DO UPDATE SET cost = allowances.cost + excluded.cost, at = excluded.at',
    'INSERT INTO allowances (scope, name, cost, at) VALUES (%(scope)s, %(name)s, %(cost)s, %(at)s) ON CONFLICT (scope, name) DO UPDATE SET cost = allowances.cost + excluded.cost, at = excluded.at',
    None,
)


def allow_cost(tx: Tx, /, *, scope: BudgetScope, name: str, cost: int, at: int) -> int:
    """Allow more beyond a budget, in addition to what was allowed before."""
    return tx.write(ALLOW_COST, {'scope': scope, 'name': name, 'cost': cost, 'at': at})
