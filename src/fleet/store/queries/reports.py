"""The queries marked `module: reports` in sql/, compiled by `make sql`. Do not edit."""

from __future__ import annotations

from fleet.store.row import Query, Row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.states import AskedFor, DispatchKind, ExecState, ReclState, ReportState, Resumes, TaskStatus
    from fleet.store.transaction import Rows, Tx


class Dispatch(Row):
    __slots__ = (
        'id',
        'kind',
        'project',
        'slug',
        'owner',
        'host',
        'tmux_socket',
        'schema',
        'created_at',
        'updated_at',
        'launched_at',
        'ended_at',
        'exec_state',
        'recl_state',
        'report',
        'report_reason',
        'reported_at',
        'asked_at',
        'asked_for',
        'asked_reason',
        'blocked_reason',
        'exit_status',
        'predecessor',
        'engine',
        'autonomy',
        'model',
        'command',
        'base',
        'spawner',
        'process',
        'server',
        'handoffs',
        'resumes',
        'home',
        'reported_commit',
        'settled_commit',
        'descendants',
        'instead_of',
        'instead_why',
        'sandbox',
    )

    def __init__(
        self,
        id: str,
        kind: DispatchKind,
        project: str,
        slug: str | None,
        owner: str,
        host: str,
        tmux_socket: str,
        schema: int,
        created_at: int,
        updated_at: int,
        launched_at: int | None,
        ended_at: int | None,
        exec_state: ExecState,
        recl_state: ReclState,
        report: ReportState | None,
        report_reason: str | None,
        reported_at: int | None,
        asked_at: int | None,
        asked_for: AskedFor | None,
        asked_reason: str | None,
        blocked_reason: str | None,
        exit_status: int | None,
        predecessor: str | None,
        engine: str | None,
        autonomy: str | None,
        model: str | None,
        command: str | None,
        base: str | None,
        spawner: str,
        process: str | None,
        server: str | None,
        handoffs: int,
        resumes: Resumes | None,
        home: str | None,
        reported_commit: str | None,
        settled_commit: str | None,
        descendants: str,
        instead_of: str | None,
        instead_why: str | None,
        sandbox: str | None,
    ) -> None:
        self.id = id
        self.kind = kind
        self.project = project
        self.slug = slug
        self.owner = owner
        self.host = host
        self.tmux_socket = tmux_socket
        self.schema = schema
        self.created_at = created_at
        self.updated_at = updated_at
        self.launched_at = launched_at
        self.ended_at = ended_at
        self.exec_state = exec_state
        self.recl_state = recl_state
        self.report = report
        self.report_reason = report_reason
        self.reported_at = reported_at
        self.asked_at = asked_at
        self.asked_for = asked_for
        self.asked_reason = asked_reason
        self.blocked_reason = blocked_reason
        self.exit_status = exit_status
        self.predecessor = predecessor
        self.engine = engine
        self.autonomy = autonomy
        self.model = model
        self.command = command
        self.base = base
        self.spawner = spawner
        self.process = process
        self.server = server
        self.handoffs = handoffs
        self.resumes = resumes
        self.home = home
        self.reported_commit = reported_commit
        self.settled_commit = settled_commit
        self.descendants = descendants
        self.instead_of = instead_of
        self.instead_why = instead_why
        self.sandbox = sandbox


class Announced(Row):
    __slots__ = (
        'id',
    )

    def __init__(
        self,
        id: str,
    ) -> None:
        self.id = id


class FreedTask(Row):
    __slots__ = (
        'slug',
        'paused',
        'not_before',
    )

    def __init__(
        self,
        slug: str,
        paused: int,
        not_before: int | None,
    ) -> None:
        self.slug = slug
        self.paused = paused
        self.not_before = not_before


DISPATCH_BY_ID = Query(
    'dispatch_by_id',
    'SELECT * FROM dispatches WHERE id = :id',
    'SELECT * FROM dispatches WHERE id = %(id)s',
    Dispatch,
)


def dispatch_by_id(rows: Rows, /, *, id: str) -> Dispatch | None:
    """One dispatch by its id."""
    return rows.select_one(DISPATCH_BY_ID, Dispatch, {'id': id})


REPORT_DISPATCH = Query(
    'report_dispatch',
    "UPDATE dispatches SET report = :report, report_reason = :reason, reported_commit = :work, reported_at = :at, updated_at = :at WHERE id = :id AND report IS NULL AND exec_state IN ('pending', 'in_flight')",
    "UPDATE dispatches SET report = %(report)s, report_reason = %(reason)s, reported_commit = %(work)s, reported_at = %(at)s, updated_at = %(at)s WHERE id = %(id)s AND report IS NULL AND exec_state IN ('pending', 'in_flight')",
    None,
)


def report_dispatch(tx: Tx, /, *, report: ReportState | None, reason: str | None, work: str | None, at: int, id: str) -> int:
    """Record the report of an unfinished dispatch; only the first report counts."""
    return tx.write(REPORT_DISPATCH, {'report': report, 'reason': reason, 'work': work, 'at': at, 'id': id})


ANNOUNCED_MERGE = Query(
    'announced_merge',
    "SELECT id FROM dispatches WHERE project = :project AND slug = :slug AND exec_state = 'in_flight' AND kind = 'finisher' AND reported_commit IS NOT NULL",
    "SELECT id FROM dispatches WHERE project = %(project)s AND slug = %(slug)s AND exec_state = 'in_flight' AND kind = 'finisher' AND reported_commit IS NOT NULL",
    Announced,
)


def announced_merge(rows: Rows, /, *, project: str, slug: str) -> Announced | None:
    """The finisher that is publishing a task's merge now."""
    return rows.select_one(ANNOUNCED_MERGE, Announced, {'project': project, 'slug': slug})


END_TASK = Query(
    'end_task',
    "UPDATE tasks SET status = :status, assignee = :assignee, reason = :reason, work = COALESCE(CAST(:work AS TEXT), work), ended_at = :at, changed_at = :at WHERE project = :project AND slug = :slug AND status = :was AND COALESCE(assignee, '') = COALESCE(CAST(:was_assignee AS TEXT), '')",
    "UPDATE tasks SET status = %(status)s, assignee = %(assignee)s, reason = %(reason)s, work = COALESCE(CAST(%(work)s AS TEXT), work), ended_at = %(at)s, changed_at = %(at)s WHERE project = %(project)s AND slug = %(slug)s AND status = %(was)s AND COALESCE(assignee, '') = COALESCE(CAST(%(was_assignee)s AS TEXT), '')",
    None,
)


def end_task(tx: Tx, /, *, status: TaskStatus, assignee: str | None, reason: str | None, work: str | None, at: int, project: str, slug: str, was: TaskStatus, was_assignee: str | None) -> int:
    """Compare and set on status and assignee: end or block a task, and record the commit of its work if it was reported."""
    return tx.write(END_TASK, {'status': status, 'assignee': assignee, 'reason': reason, 'work': work, 'at': at, 'project': project, 'slug': slug, 'was': was, 'was_assignee': was_assignee})


LEAVE_UNCOMMITTED = Query(
    'leave_uncommitted',
    "UPDATE tasks SET left_uncommitted = :reason WHERE project = :project AND slug = :slug AND COALESCE(left_uncommitted, '') <> COALESCE(CAST(:reason AS TEXT), '')",
    "UPDATE tasks SET left_uncommitted = %(reason)s WHERE project = %(project)s AND slug = %(slug)s AND COALESCE(left_uncommitted, '') <> COALESCE(CAST(%(reason)s AS TEXT), '')",
    None,
)


def leave_uncommitted(tx: Tx, /, *, reason: str | None, project: str, slug: str) -> int:
    """Record why the agent that reported a task left changes uncommitted; NULL when it left none."""
    return tx.write(LEAVE_UNCOMMITTED, {'reason': reason, 'project': project, 'slug': slug})


SHIFT_BLOCKERS = Query(
    'shift_blockers',
    'UPDATE tasks SET open_blockers = open_blockers + :change WHERE project = :project AND slug IN (SELECT slug FROM edges WHERE project = :project AND needs = :slug)',
    'UPDATE tasks SET open_blockers = open_blockers + %(change)s WHERE project = %(project)s AND slug IN (SELECT slug FROM edges WHERE project = %(project)s AND needs = %(slug)s)',
    None,
)


def shift_blockers(tx: Tx, /, *, change: int, project: str, slug: str) -> int:
    """Change the count of open blockers of all dependents of a task: by -1 when the task was done or abandoned, by +1 when it is open again."""
    return tx.write(SHIFT_BLOCKERS, {'change': change, 'project': project, 'slug': slug})


FREED_BY = Query(
    'freed_by',
    "SELECT t.slug, t.paused, t.not_before FROM edges e JOIN tasks t ON t.project = e.project AND t.slug = e.slug WHERE e.project = :project AND e.needs = :slug AND t.status = 'open' AND t.open_blockers = 0 ORDER BY t.priority DESC, t.added_at, t.slug LIMIT :most",
    "SELECT t.slug, t.paused, t.not_before FROM edges e JOIN tasks t ON t.project = e.project AND t.slug = e.slug WHERE e.project = %(project)s AND e.needs = %(slug)s AND t.status = 'open' AND t.open_blockers = 0 ORDER BY t.priority DESC, t.added_at, t.slug LIMIT %(most)s",
    FreedTask,
)


def freed_by(rows: Rows, /, *, project: str, slug: str, most: int) -> list[FreedTask]:
    """Open dependents of a task that have no open blocker left. `paused` and `not_before` are returned, not compared: with more conditions SQLite would scan all ready tasks instead of these few."""
    return rows.select_all(FREED_BY, FreedTask, {'project': project, 'slug': slug, 'most': most})
