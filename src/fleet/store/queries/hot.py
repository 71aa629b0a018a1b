"""The queries marked `module: hot` in sql/, compiled by `make sql`. Do not edit."""

from __future__ import annotations

from fleet.store.row import Query, Row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.states import TaskStatus
    from fleet.store.transaction import Rows, Tx


class NextOperation(Row):
    __slots__ = (
        'seq',
        'why',
        'request',
        'result',
    )

    def __init__(
        self,
        seq: int,
        why: str | None,
        request: str | None,
        result: str | None,
    ) -> None:
        self.seq = seq
        self.why = why
        self.request = request
        self.result = result


class StaleSpeaker(Row):
    __slots__ = (
        'project',
        'holder',
    )

    def __init__(
        self,
        project: str | None,
        holder: str | None,
    ) -> None:
        self.project = project
        self.holder = holder


class TaskState(Row):
    __slots__ = (
        'status',
        'stage',
        'assignee',
        'archived',
        'paused',
        'not_before',
        'open_blockers',
        'started_at',
        'attempts',
        'fixes',
        'merged',
        'work',
        'left_uncommitted',
        'attempted',
    )

    def __init__(
        self,
        status: TaskStatus,
        stage: str,
        assignee: str | None,
        archived: int,
        paused: int,
        not_before: int | None,
        open_blockers: int,
        started_at: int | None,
        attempts: int,
        fixes: int,
        merged: str | None,
        work: str | None,
        left_uncommitted: str | None,
        attempted: int,
    ) -> None:
        self.status = status
        self.stage = stage
        self.assignee = assignee
        self.archived = archived
        self.paused = paused
        self.not_before = not_before
        self.open_blockers = open_blockers
        self.started_at = started_at
        self.attempts = attempts
        self.fixes = fixes
        self.merged = merged
        self.work = work
        self.left_uncommitted = left_uncommitted
        self.attempted = attempted


NEXT_OPERATION = Query(
    'next_operation',
    'SELECT COALESCE((SELECT MAX(seq) FROM operations), 0) + 1 AS seq, (SELECT why FROM operations WHERE key = :key) AS why, (SELECT request FROM operations WHERE key = :key) AS request, (SELECT result FROM operations WHERE key = :key) AS result',
    'SELECT COALESCE((SELECT MAX(seq) FROM operations), 0) + 1 AS seq, (SELECT why FROM operations WHERE key = %(key)s) AS why, (SELECT request FROM operations WHERE key = %(key)s) AS request, (SELECT result FROM operations WHERE key = %(key)s) AS result',
    NextOperation,
)


def next_operation(rows: Rows, /, *, key: str) -> NextOperation:
    """The sequence number for the operation that is about to be written, and the operation that is already stored under the key; NULLs when there is none."""
    return rows.select_exactly_one(NEXT_OPERATION, NextOperation, {'key': key})


WRITE_OPERATION = Query(
    'write_operation',
    'INSERT INTO operations (seq, key, at, actor, why, request, project, slug, dispatch, what, result) VALUES (:seq, :key, :at, :actor, :why, :request, :project, :slug, :dispatch, :what, :result)',
    'INSERT INTO operations (seq, key, at, actor, why, request, project, slug, dispatch, what, result) VALUES (%(seq)s, %(key)s, %(at)s, %(actor)s, %(why)s, %(request)s, %(project)s, %(slug)s, %(dispatch)s, %(what)s, %(result)s)',
    None,
)


def write_operation(tx: Tx, /, *, seq: int, key: str, at: int, actor: str, why: str, request: str, project: str | None, slug: str | None, dispatch: str | None, what: str, result: str) -> int:
    """Record the operation of one transaction."""
    return tx.write(WRITE_OPERATION, {'seq': seq, 'key': key, 'at': at, 'actor': actor, 'why': why, 'request': request, 'project': project, 'slug': slug, 'dispatch': dispatch, 'what': what, 'result': result})


STALE_SPEAKER = Query(
    'stale_speaker',
    "SELECT d.project, CASE WHEN s.holder = d.id THEN NULL ELSE s.holder END AS holder FROM ids i LEFT JOIN dispatches d ON d.id = i.id LEFT JOIN seats s ON s.project = d.project WHERE i.id = :id AND (d.id IS NULL OR (d.kind = 'coord' AND d.exec_state <> 'pending' AND (COALESCE(s.holder, '') <> d.id OR (d.server IS NULL AND d.exec_state <> 'in_flight'))))",
    "SELECT d.project, CASE WHEN s.holder = d.id THEN NULL ELSE s.holder END AS holder FROM ids i LEFT JOIN dispatches d ON d.id = i.id LEFT JOIN seats s ON s.project = d.project WHERE i.id = %(id)s AND (d.id IS NULL OR (d.kind = 'coord' AND d.exec_state <> 'pending' AND (COALESCE(s.holder, '') <> d.id OR (d.server IS NULL AND d.exec_state <> 'in_flight'))))",
    StaleSpeaker,
)


def stale_speaker(rows: Rows, /, *, id: str) -> StaleSpeaker | None:
    """A row when a dispatch may not write: it was archived; or it is a launched coordinator that does not hold its seat; or it is a coordinator that has ended and had no session, because it was a duty of the daemon, whose process lives on. `project` is NULL for an archived dispatch; `holder` is who holds the seat instead."""
    return rows.select_one(STALE_SPEAKER, StaleSpeaker, {'id': id})


TASK_STATE = Query(
    'task_state',
    "SELECT status, stage, assignee, archived, paused, not_before, open_blockers, started_at, attempts, fixes, merged, work, left_uncommitted, EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug AND d.exec_state IN ('pending', 'in_flight')) AS attempted FROM tasks WHERE project = :project AND slug = :slug",
    "SELECT status, stage, assignee, archived, paused, not_before, open_blockers, started_at, attempts, fixes, merged, work, left_uncommitted, EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug AND d.exec_state IN ('pending', 'in_flight')) AS attempted FROM tasks WHERE project = %(project)s AND slug = %(slug)s",
    TaskState,
)


def task_state(rows: Rows, /, *, project: str, slug: str) -> TaskState | None:
    """The columns of a task that the fence and the table of steps need, and whether an unfinished dispatch works on it."""
    return rows.select_one(TASK_STATE, TaskState, {'project': project, 'slug': slug})


CLAIM_TASK = Query(
    'claim_task',
    "UPDATE tasks SET status = :after, assignee = :actor, attempts = attempts + 1, reason = NULL, started_at = :at, ended_at = NULL, changed_at = :at WHERE project = :project AND slug = :slug AND status = 'open' AND paused = 0 AND open_blockers = 0 AND (not_before IS NULL OR not_before <= :at)",
    "UPDATE tasks SET status = %(after)s, assignee = %(actor)s, attempts = attempts + 1, reason = NULL, started_at = %(at)s, ended_at = NULL, changed_at = %(at)s WHERE project = %(project)s AND slug = %(slug)s AND status = 'open' AND paused = 0 AND open_blockers = 0 AND (not_before IS NULL OR not_before <= %(at)s)",
    None,
)


def claim_task(tx: Tx, /, *, after: TaskStatus, actor: str | None, at: int, project: str, slug: str) -> int:
    """Compare and set: claim a ready task; only one claim succeeds."""
    return tx.write(CLAIM_TASK, {'after': after, 'actor': actor, 'at': at, 'project': project, 'slug': slug})


ADD_LOG = Query(
    'add_log',
    'INSERT INTO task_log (project, slug, seq, at, actor, message) VALUES (:project, :slug, :seq, :at, :actor, :message)',
    'INSERT INTO task_log (project, slug, seq, at, actor, message) VALUES (%(project)s, %(slug)s, %(seq)s, %(at)s, %(actor)s, %(message)s)',
    None,
)


def add_log(tx: Tx, /, *, project: str, slug: str, seq: int, at: int, actor: str, message: str) -> int:
    """Add an entry to a task's log."""
    return tx.write(ADD_LOG, {'project': project, 'slug': slug, 'seq': seq, 'at': at, 'actor': actor, 'message': message})


ADD_ARTIFACT = Query(
    'add_artifact',
    'INSERT INTO artifacts (project, slug, path, at, actor) VALUES (:project, :slug, :path, :at, :actor) ON CONFLICT DO NOTHING',
    'INSERT INTO artifacts (project, slug, path, at, actor) VALUES (%(project)s, %(slug)s, %(path)s, %(at)s, %(actor)s) ON CONFLICT DO NOTHING',
    None,
)


def add_artifact(tx: Tx, /, *, project: str, slug: str, path: str, at: int, actor: str) -> int:
    """Register an artifact of a task; nothing changes when it is registered already."""
    return tx.write(ADD_ARTIFACT, {'project': project, 'slug': slug, 'path': path, 'at': at, 'actor': actor})
