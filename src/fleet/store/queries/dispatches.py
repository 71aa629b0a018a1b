"""The queries of sql/dispatches.sql, compiled by `make sql`. Do not edit."""

from __future__ import annotations

from fleet.store.queries.reports import Dispatch
from fleet.store.queries.shared import Count, Existence
from fleet.store.row import Query, Row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.states import AskedFor, DispatchKind, ExecState, ReclState, ReportState, Resumes, TaskStatus
    from fleet.store.transaction import Rows, Tx


class DispatchHead(Row):
    __slots__ = (
        'id',
        'kind',
        'project',
        'slug',
        'exec_state',
        'created_at',
    )

    def __init__(
        self,
        id: str,
        kind: DispatchKind,
        project: str,
        slug: str | None,
        exec_state: ExecState,
        created_at: int,
    ) -> None:
        self.id = id
        self.kind = kind
        self.project = project
        self.slug = slug
        self.exec_state = exec_state
        self.created_at = created_at


class DispatchId(Row):
    __slots__ = (
        'id',
    )

    def __init__(
        self,
        id: str,
    ) -> None:
        self.id = id


class UnfinishedCount(Row):
    __slots__ = (
        'everywhere',
        'here',
    )

    def __init__(
        self,
        everywhere: int,
        here: int,
    ) -> None:
        self.everywhere = everywhere
        self.here = here


class Token(Row):
    __slots__ = (
        'hash',
    )

    def __init__(
        self,
        hash: str,
    ) -> None:
        self.hash = hash


class Agent(Row):
    __slots__ = (
        'dispatch',
        'engine',
        'session',
        'started_at',
        'heartbeat_at',
        'archived_at',
        'state',
        'state_at',
        'detail',
        'context',
        'tokens',
        'cost',
        'conversation',
        'compacting',
        'sent_back',
        'failed_turns',
    )

    def __init__(
        self,
        dispatch: str,
        engine: str,
        session: str,
        started_at: int,
        heartbeat_at: int | None,
        archived_at: int | None,
        state: str | None,
        state_at: int | None,
        detail: str | None,
        context: int | None,
        tokens: int | None,
        cost: int | None,
        conversation: str | None,
        compacting: int,
        sent_back: int,
        failed_turns: int,
    ) -> None:
        self.dispatch = dispatch
        self.engine = engine
        self.session = session
        self.started_at = started_at
        self.heartbeat_at = heartbeat_at
        self.archived_at = archived_at
        self.state = state
        self.state_at = state_at
        self.detail = detail
        self.context = context
        self.tokens = tokens
        self.cost = cost
        self.conversation = conversation
        self.compacting = compacting
        self.sent_back = sent_back
        self.failed_turns = failed_turns


class LeftAttempt(Row):
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
        'conversation',
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
        conversation: str | None,
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
        self.conversation = conversation


class JobOfTask(Row):
    __slots__ = (
        'job',
    )

    def __init__(
        self,
        job: str,
    ) -> None:
        self.job = job


class MergeableTask(Row):
    __slots__ = (
        'slug',
        'status',
        'stage',
        'assignee',
    )

    def __init__(
        self,
        slug: str,
        status: TaskStatus,
        stage: str,
        assignee: str | None,
    ) -> None:
        self.slug = slug
        self.status = status
        self.stage = stage
        self.assignee = assignee


class WaitingStage(Row):
    __slots__ = (
        'slug',
        'status',
        'stage',
        'assignee',
        'fixes',
        'reason',
    )

    def __init__(
        self,
        slug: str,
        status: TaskStatus,
        stage: str,
        assignee: str | None,
        fixes: int,
        reason: str | None,
    ) -> None:
        self.slug = slug
        self.status = status
        self.stage = stage
        self.assignee = assignee
        self.fixes = fixes
        self.reason = reason


class ServerOf(Row):
    __slots__ = (
        'server',
    )

    def __init__(
        self,
        server: str,
    ) -> None:
        self.server = server


RESERVE_ID = Query(
    'reserve_id',
    'INSERT INTO ids (id, at) VALUES (:id, :at) ON CONFLICT DO NOTHING',
    'INSERT INTO ids (id, at) VALUES (%(id)s, %(at)s) ON CONFLICT DO NOTHING',
    None,
)


def reserve_id(tx: Tx, /, *, id: str, at: int) -> int:
    """Reserve a dispatch id; no id is ever given out twice."""
    return tx.write(RESERVE_ID, {'id': id, 'at': at})


ID_GIVEN = Query(
    'id_given',
    'SELECT 1 AS yes FROM ids WHERE id = :id',
    'SELECT 1 AS yes FROM ids WHERE id = %(id)s',
    Existence,
)


def id_given(rows: Rows, /, *, id: str) -> Existence | None:
    """Whether a dispatch id was ever reserved."""
    return rows.select_one(ID_GIVEN, Existence, {'id': id})


ADD_DISPATCH = Query(
    'add_dispatch',
    'INSERT INTO dispatches (id, kind, project, slug, owner, host, home, tmux_socket, created_at, updated_at, predecessor, engine, autonomy, model, command, base, spawner, server) VALUES (:id, :kind, :project, :slug, :owner, :host, :home, :tmux_socket, :at, :at, :predecessor, :engine, :autonomy, :model, :command, :base, :spawner, :server) ON CONFLICT DO NOTHING',
    'INSERT INTO dispatches (id, kind, project, slug, owner, host, home, tmux_socket, created_at, updated_at, predecessor, engine, autonomy, model, command, base, spawner, server) VALUES (%(id)s, %(kind)s, %(project)s, %(slug)s, %(owner)s, %(host)s, %(home)s, %(tmux_socket)s, %(at)s, %(at)s, %(predecessor)s, %(engine)s, %(autonomy)s, %(model)s, %(command)s, %(base)s, %(spawner)s, %(server)s) ON CONFLICT DO NOTHING',
    None,
)


def add_dispatch(tx: Tx, /, *, id: str, kind: DispatchKind, project: str, slug: str | None, owner: str, host: str, home: str | None, tmux_socket: str, at: int, predecessor: str | None, engine: str | None, autonomy: str | None, model: str | None, command: str | None, base: str | None, spawner: str, server: str | None) -> int:
    """Record a new dispatch; add no row when the task has an unfinished one."""
    return tx.write(ADD_DISPATCH, {'id': id, 'kind': kind, 'project': project, 'slug': slug, 'owner': owner, 'host': host, 'home': home, 'tmux_socket': tmux_socket, 'at': at, 'predecessor': predecessor, 'engine': engine, 'autonomy': autonomy, 'model': model, 'command': command, 'base': base, 'spawner': spawner, 'server': server})


LISTED_DISPATCHES = Query(
    'listed_dispatches',
    "SELECT * FROM dispatches WHERE (CAST(:project AS TEXT) IS NULL OR project = :project) AND (:ended = 1 OR exec_state IN ('pending', 'in_flight')) ORDER BY created_at, id",
    "SELECT * FROM dispatches WHERE (CAST(%(project)s AS TEXT) IS NULL OR project = %(project)s) AND (%(ended)s = 1 OR exec_state IN ('pending', 'in_flight')) ORDER BY created_at, id",
    Dispatch,
)


def listed_dispatches(rows: Rows, /, *, project: str | None, ended: int) -> list[Dispatch]:
    """Dispatches of one project or of all, oldest first; ended ones only on request."""
    return rows.select_all(LISTED_DISPATCHES, Dispatch, {'project': project, 'ended': ended})


DISPATCHES_LIKE = Query(
    'dispatches_like',
    'SELECT id, kind, project, slug, exec_state, created_at FROM dispatches WHERE id LIKE :prefix OR slug = :slug ORDER BY created_at DESC, id',
    'SELECT id, kind, project, slug, exec_state, created_at FROM dispatches WHERE id LIKE %(prefix)s OR slug = %(slug)s ORDER BY created_at DESC, id',
    DispatchHead,
)


def dispatches_like(rows: Rows, /, *, prefix: str, slug: str) -> list[DispatchHead]:
    """Dispatches whose id begins with a text, or that work on a task of that slug, newest first."""
    return rows.select_all(DISPATCHES_LIKE, DispatchHead, {'prefix': prefix, 'slug': slug})


NEWEST_DISPATCH = Query(
    'newest_dispatch',
    'SELECT id FROM dispatches ORDER BY created_at DESC, id LIMIT 1',
    'SELECT id FROM dispatches ORDER BY created_at DESC, id LIMIT 1',
    DispatchId,
)


def newest_dispatch(rows: Rows, /) -> DispatchId | None:
    """The dispatch that was recorded last."""
    return rows.select_one(NEWEST_DISPATCH, DispatchId, {})


UNFINISHED_OF_TASK = Query(
    'unfinished_of_task',
    "SELECT * FROM dispatches WHERE project = :project AND slug = :slug AND exec_state IN ('pending', 'in_flight')",
    "SELECT * FROM dispatches WHERE project = %(project)s AND slug = %(slug)s AND exec_state IN ('pending', 'in_flight')",
    Dispatch,
)


def unfinished_of_task(rows: Rows, /, *, project: str, slug: str) -> Dispatch | None:
    """The unfinished dispatch of a task."""
    return rows.select_one(UNFINISHED_OF_TASK, Dispatch, {'project': project, 'slug': slug})


LAST_OF_TASK = Query(
    'last_of_task',
    'SELECT * FROM dispatches WHERE project = :project AND slug = :slug ORDER BY created_at DESC, id LIMIT 1',
    'SELECT * FROM dispatches WHERE project = %(project)s AND slug = %(slug)s ORDER BY created_at DESC, id LIMIT 1',
    Dispatch,
)


def last_of_task(rows: Rows, /, *, project: str, slug: str) -> Dispatch | None:
    """The newest dispatch of a task."""
    return rows.select_one(LAST_OF_TASK, Dispatch, {'project': project, 'slug': slug})


COUNT_UNFINISHED = Query(
    'count_unfinished',
    "SELECT COUNT(*) AS everywhere, COALESCE(SUM(CASE WHEN project = :project THEN 1 ELSE 0 END), 0) AS here FROM dispatches WHERE exec_state IN ('pending', 'in_flight') AND kind <> 'coord'",
    "SELECT COUNT(*) AS everywhere, COALESCE(SUM(CASE WHEN project = %(project)s THEN 1 ELSE 0 END), 0) AS here FROM dispatches WHERE exec_state IN ('pending', 'in_flight') AND kind <> 'coord'",
    UnfinishedCount,
)


def count_unfinished(rows: Rows, /, *, project: str) -> UnfinishedCount:
    """How many agents are at work, in all and in one project; coordinators are not counted."""
    return rows.select_exactly_one(COUNT_UNFINISHED, UnfinishedCount, {'project': project})


LAUNCH_DISPATCH = Query(
    'launch_dispatch',
    'UPDATE dispatches SET exec_state = :after, process = :process, launched_at = :at, updated_at = :at WHERE id = :id AND exec_state = :before AND asked_for IS NULL',
    'UPDATE dispatches SET exec_state = %(after)s, process = %(process)s, launched_at = %(at)s, updated_at = %(at)s WHERE id = %(id)s AND exec_state = %(before)s AND asked_for IS NULL',
    None,
)


def launch_dispatch(tx: Tx, /, *, after: ExecState, process: str | None, at: int, id: str, before: ExecState) -> int:
    """Compare and set: record the launch of a pending dispatch and its process; only the first launch succeeds."""
    return tx.write(LAUNCH_DISPATCH, {'after': after, 'process': process, 'at': at, 'id': id, 'before': before})


SET_SANDBOX = Query(
    'set_sandbox',
    "UPDATE dispatches SET sandbox = :sandbox WHERE id = :id AND exec_state = 'pending'",
    "UPDATE dispatches SET sandbox = %(sandbox)s WHERE id = %(id)s AND exec_state = 'pending'",
    None,
)


def set_sandbox(tx: Tx, /, *, sandbox: str | None, id: str) -> int:
    """Record the sandbox in which the agent of a pending dispatch will be started."""
    return tx.write(SET_SANDBOX, {'sandbox': sandbox, 'id': id})


ADD_TOKEN = Query(
    'add_token',
    'INSERT INTO tokens (dispatch, hash) VALUES (:dispatch, :hash) ON CONFLICT DO NOTHING',
    'INSERT INTO tokens (dispatch, hash) VALUES (%(dispatch)s, %(hash)s) ON CONFLICT DO NOTHING',
    None,
)


def add_token(tx: Tx, /, *, dispatch: str, hash: str) -> int:
    """Record the hash of the token that a launch gives to its agent."""
    return tx.write(ADD_TOKEN, {'dispatch': dispatch, 'hash': hash})


TOKEN_OF = Query(
    'token_of',
    "SELECT t.hash FROM tokens t JOIN dispatches d ON d.id = t.dispatch WHERE t.dispatch = :dispatch AND d.exec_state = 'in_flight'",
    "SELECT t.hash FROM tokens t JOIN dispatches d ON d.id = t.dispatch WHERE t.dispatch = %(dispatch)s AND d.exec_state = 'in_flight'",
    Token,
)


def token_of(rows: Rows, /, *, dispatch: str) -> Token | None:
    """The hash of an agent's token; no row once its dispatch has ended."""
    return rows.select_one(TOKEN_OF, Token, {'dispatch': dispatch})


ANNOUNCE_MERGE = Query(
    'announce_merge',
    "UPDATE dispatches SET reported_commit = :commit, updated_at = :at WHERE id = :id AND kind = 'finisher' AND exec_state = 'in_flight'",
    "UPDATE dispatches SET reported_commit = %(commit)s, updated_at = %(at)s WHERE id = %(id)s AND kind = 'finisher' AND exec_state = 'in_flight'",
    None,
)


def announce_merge(tx: Tx, /, *, commit: str | None, at: int, id: str) -> int:
    """Record the merge commit to which a finisher is about to move the integration branch. From then on the task cannot change until the finisher has ended."""
    return tx.write(ANNOUNCE_MERGE, {'commit': commit, 'at': at, 'id': id})


ASK_DISPATCH = Query(
    'ask_dispatch',
    "UPDATE dispatches SET asked_at = COALESCE(asked_at, :at), asked_for = :asked_for, asked_reason = :reason, updated_at = :at WHERE id = :id AND exec_state IN ('pending', 'in_flight') AND (asked_for IS NULL OR asked_for = 'report' OR (asked_for <> 'kill' AND :asked_for = 'kill') OR (asked_for = 'handoff' AND :asked_for = 'stop'))",
    "UPDATE dispatches SET asked_at = COALESCE(asked_at, %(at)s), asked_for = %(asked_for)s, asked_reason = %(reason)s, updated_at = %(at)s WHERE id = %(id)s AND exec_state IN ('pending', 'in_flight') AND (asked_for IS NULL OR asked_for = 'report' OR (asked_for <> 'kill' AND %(asked_for)s = 'kill') OR (asked_for = 'handoff' AND %(asked_for)s = 'stop'))",
    None,
)


def ask_dispatch(tx: Tx, /, *, at: int, asked_for: AskedFor, reason: str | None, id: str) -> int:
    """Record what an agent is asked to exit for. 'kill' replaces any other request, 'stop' replaces 'handoff', and everything replaces 'report'. The time of the first request is kept."""
    return tx.write(ASK_DISPATCH, {'at': at, 'asked_for': asked_for, 'reason': reason, 'id': id})


END_DISPATCH = Query(
    'end_dispatch',
    "UPDATE dispatches SET exec_state = :after, exit_status = :exit_status, blocked_reason = :reason, settled_commit = :work, ended_at = :at, updated_at = :at WHERE id = :id AND exec_state = :before AND COALESCE(report, '') = COALESCE(CAST(:report AS TEXT), '') AND COALESCE(asked_for, '') = COALESCE(CAST(:asked_for AS TEXT), '')",
    "UPDATE dispatches SET exec_state = %(after)s, exit_status = %(exit_status)s, blocked_reason = %(reason)s, settled_commit = %(work)s, ended_at = %(at)s, updated_at = %(at)s WHERE id = %(id)s AND exec_state = %(before)s AND COALESCE(report, '') = COALESCE(CAST(%(report)s AS TEXT), '') AND COALESCE(asked_for, '') = COALESCE(CAST(%(asked_for)s AS TEXT), '')",
    None,
)


def end_dispatch(tx: Tx, /, *, after: ExecState, exit_status: int | None, reason: str | None, work: str | None, at: int, id: str, before: ExecState, report: str | None, asked_for: str | None) -> int:
    """Compare and set: record the outcome of a dispatch, unless its report or the request to exit has changed."""
    return tx.write(END_DISPATCH, {'after': after, 'exit_status': exit_status, 'reason': reason, 'work': work, 'at': at, 'id': id, 'before': before, 'report': report, 'asked_for': asked_for})


STEP_RECL = Query(
    'step_recl',
    'UPDATE dispatches SET recl_state = :after, updated_at = :at WHERE id = :id AND recl_state = :before',
    'UPDATE dispatches SET recl_state = %(after)s, updated_at = %(at)s WHERE id = %(id)s AND recl_state = %(before)s',
    None,
)


def step_recl(tx: Tx, /, *, after: ReclState, at: int, id: str, before: ReclState) -> int:
    """Compare and set: change the reclamation state of a dispatch."""
    return tx.write(STEP_RECL, {'after': after, 'at': at, 'id': id, 'before': before})


FORGET_DISPATCH = Query(
    'forget_dispatch',
    "DELETE FROM dispatches WHERE id = :id AND recl_state = 'complete'",
    "DELETE FROM dispatches WHERE id = %(id)s AND recl_state = 'complete'",
    None,
)


def forget_dispatch(tx: Tx, /, *, id: str) -> int:
    """Delete a dispatch whose claims are all released; its journal is in the archive."""
    return tx.write(FORGET_DISPATCH, {'id': id})


FORGET_CLAIMS = Query(
    'forget_claims',
    "DELETE FROM claims WHERE dispatch = :id AND state = 'released'",
    "DELETE FROM claims WHERE dispatch = %(id)s AND state = 'released'",
    None,
)


def forget_claims(tx: Tx, /, *, id: str) -> int:
    """Delete the released claims of a dispatch."""
    return tx.write(FORGET_CLAIMS, {'id': id})


FORGET_AGENT = Query(
    'forget_agent',
    'DELETE FROM agents WHERE dispatch = :id AND archived_at IS NOT NULL',
    'DELETE FROM agents WHERE dispatch = %(id)s AND archived_at IS NOT NULL',
    None,
)


def forget_agent(tx: Tx, /, *, id: str) -> int:
    """Delete the archived record of an agent."""
    return tx.write(FORGET_AGENT, {'id': id})


ADD_AGENT = Query(
    'add_agent',
    'INSERT INTO agents (dispatch, engine, session, started_at, conversation) VALUES (:id, :engine, :session, :at, :conversation) ON CONFLICT DO NOTHING',
    'INSERT INTO agents (dispatch, engine, session, started_at, conversation) VALUES (%(id)s, %(engine)s, %(session)s, %(at)s, %(conversation)s) ON CONFLICT DO NOTHING',
    None,
)


def add_agent(tx: Tx, /, *, id: str, engine: str, session: str, at: int, conversation: str | None) -> int:
    """Add an agent's record."""
    return tx.write(ADD_AGENT, {'id': id, 'engine': engine, 'session': session, 'at': at, 'conversation': conversation})


ARCHIVE_AGENT = Query(
    'archive_agent',
    'UPDATE agents SET archived_at = :at WHERE dispatch = :id AND archived_at IS NULL',
    'UPDATE agents SET archived_at = %(at)s WHERE dispatch = %(id)s AND archived_at IS NULL',
    None,
)


def archive_agent(tx: Tx, /, *, at: int | None, id: str) -> int:
    """Archive an agent's record, because its dispatch has ended."""
    return tx.write(ARCHIVE_AGENT, {'at': at, 'id': id})


AGENT_BY_ID = Query(
    'agent_by_id',
    'SELECT * FROM agents WHERE dispatch = :id',
    'SELECT * FROM agents WHERE dispatch = %(id)s',
    Agent,
)


def agent_by_id(rows: Rows, /, *, id: str) -> Agent | None:
    """An agent's record."""
    return rows.select_one(AGENT_BY_ID, Agent, {'id': id})


ADD_SPAWN_FAILURE = Query(
    'add_spawn_failure',
    'INSERT INTO spawn_failures (project, slug, dispatch, at, why) VALUES (:project, :slug, :dispatch, :at, :why) ON CONFLICT DO NOTHING',
    'INSERT INTO spawn_failures (project, slug, dispatch, at, why) VALUES (%(project)s, %(slug)s, %(dispatch)s, %(at)s, %(why)s) ON CONFLICT DO NOTHING',
    None,
)


def add_spawn_failure(tx: Tx, /, *, project: str, slug: str, dispatch: str, at: int, why: str) -> int:
    """Record that a dispatch of a task could not be started."""
    return tx.write(ADD_SPAWN_FAILURE, {'project': project, 'slug': slug, 'dispatch': dispatch, 'at': at, 'why': why})


COUNT_SPAWN_FAILURES = Query(
    'count_spawn_failures',
    'SELECT COUNT(*) AS n FROM spawn_failures WHERE project = :project AND slug = :slug AND at > :since',
    'SELECT COUNT(*) AS n FROM spawn_failures WHERE project = %(project)s AND slug = %(slug)s AND at > %(since)s',
    Count,
)


def count_spawn_failures(rows: Rows, /, *, project: str, slug: str, since: int) -> Count:
    """How many starts of a task have failed since a time."""
    return rows.select_exactly_one(COUNT_SPAWN_FAILURES, Count, {'project': project, 'slug': slug, 'since': since})


ASSIGN_TASK = Query(
    'assign_task',
    "UPDATE tasks SET status = :after, assignee = :id, attempts = attempts + 1, reason = NULL, started_at = :at, ended_at = NULL, changed_at = :at WHERE project = :project AND slug = :slug AND status = 'open' AND paused = 0 AND open_blockers = 0 AND (not_before IS NULL OR not_before <= :at)",
    "UPDATE tasks SET status = %(after)s, assignee = %(id)s, attempts = attempts + 1, reason = NULL, started_at = %(at)s, ended_at = NULL, changed_at = %(at)s WHERE project = %(project)s AND slug = %(slug)s AND status = 'open' AND paused = 0 AND open_blockers = 0 AND (not_before IS NULL OR not_before <= %(at)s)",
    None,
)


def assign_task(tx: Tx, /, *, after: TaskStatus, id: str | None, at: int, project: str, slug: str) -> int:
    """Compare and set: assign a ready task to a dispatch that starts."""
    return tx.write(ASSIGN_TASK, {'after': after, 'id': id, 'at': at, 'project': project, 'slug': slug})


ASSIGN_STAGE = Query(
    'assign_stage',
    "UPDATE tasks SET status = :after, assignee = :id, attempts = attempts + 1, reason = NULL, fixes = fixes + CASE WHEN status = 'blocked' THEN :mends ELSE 0 END, started_at = COALESCE(started_at, :at), ended_at = NULL, changed_at = :at WHERE project = :project AND slug = :slug AND stage = :stage AND paused = 0 AND ((status = 'blocked' AND stage IN ('fix', 'rebase')) OR (status = 'in_progress' AND assignee = :predecessor)) AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug AND d.exec_state IN ('pending', 'in_flight'))",
    "UPDATE tasks SET status = %(after)s, assignee = %(id)s, attempts = attempts + 1, reason = NULL, fixes = fixes + CASE WHEN status = 'blocked' THEN %(mends)s ELSE 0 END, started_at = COALESCE(started_at, %(at)s), ended_at = NULL, changed_at = %(at)s WHERE project = %(project)s AND slug = %(slug)s AND stage = %(stage)s AND paused = 0 AND ((status = 'blocked' AND stage IN ('fix', 'rebase')) OR (status = 'in_progress' AND assignee = %(predecessor)s)) AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug AND d.exec_state IN ('pending', 'in_flight'))",
    None,
)


def assign_stage(tx: Tx, /, *, after: TaskStatus, id: str | None, mends: int, at: int, project: str, slug: str, stage: str, predecessor: str) -> int:
    """Compare and set: assign a task to a dispatch of a later stage. The task is blocked and waits to be mended, or it is in progress and still assigned to the dispatch before this one (`predecessor`)."""
    return tx.write(ASSIGN_STAGE, {'after': after, 'id': id, 'mends': mends, 'at': at, 'project': project, 'slug': slug, 'stage': stage, 'predecessor': predecessor})


RESUME_TASK = Query(
    'resume_task',
    "UPDATE tasks SET status = :after, assignee = :id, attempts = attempts + 1, reason = NULL, started_at = COALESCE(started_at, :at), ended_at = NULL, changed_at = :at WHERE project = :project AND slug = :slug AND status IN ('blocked', 'failed') AND assignee = :predecessor AND paused = 0 AND archived = 0",
    "UPDATE tasks SET status = %(after)s, assignee = %(id)s, attempts = attempts + 1, reason = NULL, started_at = COALESCE(started_at, %(at)s), ended_at = NULL, changed_at = %(at)s WHERE project = %(project)s AND slug = %(slug)s AND status IN ('blocked', 'failed') AND assignee = %(predecessor)s AND paused = 0 AND archived = 0",
    None,
)


def resume_task(tx: Tx, /, *, after: TaskStatus, id: str | None, at: int, project: str, slug: str, predecessor: str) -> int:
    """Compare and set: assign a task to a dispatch that resumes an ended one, if nobody has continued the task since."""
    return tx.write(RESUME_TASK, {'after': after, 'id': id, 'at': at, 'project': project, 'slug': slug, 'predecessor': predecessor})


LEFT_ATTEMPTS = Query(
    'left_attempts',
    "SELECT d.*, a.conversation FROM dispatches d JOIN tasks t ON t.project = d.project AND t.slug = d.slug AND t.assignee = d.id LEFT JOIN agents a ON a.dispatch = d.id WHERE d.exec_state IN ('blocked', 'failed') AND d.kind <> 'finisher' AND t.status IN ('blocked', 'failed') AND t.archived = 0 AND t.paused = 0 AND t.job IS NULL AND (CAST(:project AS TEXT) IS NULL OR d.project = :project) ORDER BY d.created_at, d.id",
    "SELECT d.*, a.conversation FROM dispatches d JOIN tasks t ON t.project = d.project AND t.slug = d.slug AND t.assignee = d.id LEFT JOIN agents a ON a.dispatch = d.id WHERE d.exec_state IN ('blocked', 'failed') AND d.kind <> 'finisher' AND t.status IN ('blocked', 'failed') AND t.archived = 0 AND t.paused = 0 AND t.job IS NULL AND (CAST(%(project)s AS TEXT) IS NULL OR d.project = %(project)s) ORDER BY d.created_at, d.id",
    LeftAttempt,
)


def left_attempts(rows: Rows, /, *, project: str | None) -> list[LeftAttempt]:
    """Ended dispatches that can perhaps be resumed: their task is still assigned to them and stopped; oldest first."""
    return rows.select_all(LEFT_ATTEMPTS, LeftAttempt, {'project': project})


JOB_OF_TASK = Query(
    'job_of_task',
    'SELECT job FROM tasks WHERE project = :project AND slug = :slug AND job IS NOT NULL',
    'SELECT job FROM tasks WHERE project = %(project)s AND slug = %(slug)s AND job IS NOT NULL',
    JobOfTask,
)


def job_of_task(rows: Rows, /, *, project: str, slug: str) -> JobOfTask | None:
    """The job to whose item a task belongs."""
    return rows.select_one(JOB_OF_TASK, JobOfTask, {'project': project, 'slug': slug})


SET_RESUMES = Query(
    'set_resumes',
    "UPDATE dispatches SET resumes = :resumes WHERE id = :id AND exec_state = 'pending'",
    "UPDATE dispatches SET resumes = %(resumes)s WHERE id = %(id)s AND exec_state = 'pending'",
    None,
)


def set_resumes(tx: Tx, /, *, resumes: Resumes | None, id: str) -> int:
    """Record that a pending dispatch resumes an ended one: 'conversation' in the same conversation, 'again' in a new one."""
    return tx.write(SET_RESUMES, {'resumes': resumes, 'id': id})


SET_INSTEAD = Query(
    'set_instead',
    "UPDATE dispatches SET instead_of = :engine, instead_why = :why WHERE id = :id AND exec_state = 'pending'",
    "UPDATE dispatches SET instead_of = %(engine)s, instead_why = %(why)s WHERE id = %(id)s AND exec_state = 'pending'",
    None,
)


def set_instead(tx: Tx, /, *, engine: str | None, why: str | None, id: str) -> int:
    """Record the held engine that a pending dispatch would have used, and why that engine is held."""
    return tx.write(SET_INSTEAD, {'engine': engine, 'why': why, 'id': id})


NOTE_DESCENDANTS = Query(
    'note_descendants',
    "UPDATE dispatches SET descendants = :descendants WHERE id = :id AND exec_state = 'in_flight'",
    "UPDATE dispatches SET descendants = %(descendants)s WHERE id = %(id)s AND exec_state = 'in_flight'",
    None,
)


def note_descendants(tx: Tx, /, *, descendants: str, id: str) -> int:
    """Record the descendant processes of an agent that carry no mark of its dispatch and may outlive the agent."""
    return tx.write(NOTE_DESCENDANTS, {'descendants': descendants, 'id': id})


SETTLE_TASK = Query(
    'settle_task',
    'UPDATE tasks SET status = :after, stage = COALESCE(CAST(:stage AS TEXT), stage), work = COALESCE(CAST(:work AS TEXT), work), assignee = :assignee, reason = :reason, not_before = COALESCE(CAST(:not_before AS BIGINT), not_before), ended_at = :ended_at, changed_at = :at WHERE project = :project AND slug = :slug AND status = :before AND assignee = :id',
    'UPDATE tasks SET status = %(after)s, stage = COALESCE(CAST(%(stage)s AS TEXT), stage), work = COALESCE(CAST(%(work)s AS TEXT), work), assignee = %(assignee)s, reason = %(reason)s, not_before = COALESCE(CAST(%(not_before)s AS BIGINT), not_before), ended_at = %(ended_at)s, changed_at = %(at)s WHERE project = %(project)s AND slug = %(slug)s AND status = %(before)s AND assignee = %(id)s',
    None,
)


def settle_task(tx: Tx, /, *, after: TaskStatus, stage: str | None, work: str | None, assignee: str | None, reason: str | None, not_before: int | None, ended_at: int | None, at: int, project: str, slug: str, before: TaskStatus, id: str) -> int:
    """Compare and set: record the outcome of a dispatch on its task, if the task is still assigned to that dispatch, and the commit of the work, if any."""
    return tx.write(SETTLE_TASK, {'after': after, 'stage': stage, 'work': work, 'assignee': assignee, 'reason': reason, 'not_before': not_before, 'ended_at': ended_at, 'at': at, 'project': project, 'slug': slug, 'before': before, 'id': id})


MERGE_TASK = Query(
    'merge_task',
    "UPDATE tasks SET merged = :commit, merged_at = :at, changed_at = :at, status = :after, stage = 'finisher', reason = NULL, ended_at = COALESCE(ended_at, :at) WHERE project = :project AND slug = :slug AND merged IS NULL AND status = :before",
    "UPDATE tasks SET merged = %(commit)s, merged_at = %(at)s, changed_at = %(at)s, status = %(after)s, stage = 'finisher', reason = NULL, ended_at = COALESCE(ended_at, %(at)s) WHERE project = %(project)s AND slug = %(slug)s AND merged IS NULL AND status = %(before)s",
    None,
)


def merge_task(tx: Tx, /, *, commit: str | None, at: int, after: TaskStatus, project: str, slug: str, before: TaskStatus) -> int:
    """Compare and set: make a task done, because git contains its work."""
    return tx.write(MERGE_TASK, {'commit': commit, 'at': at, 'after': after, 'project': project, 'slug': slug, 'before': before})


PARK_TASK = Query(
    'park_task',
    'UPDATE tasks SET status = :after, stage = :stage, reason = :reason, changed_at = :at WHERE project = :project AND slug = :slug AND status = :before',
    'UPDATE tasks SET status = %(after)s, stage = %(stage)s, reason = %(reason)s, changed_at = %(at)s WHERE project = %(project)s AND slug = %(slug)s AND status = %(before)s',
    None,
)


def park_task(tx: Tx, /, *, after: TaskStatus, stage: str, reason: str | None, at: int, project: str, slug: str, before: TaskStatus) -> int:
    """Compare and set: block a task whose merge is not possible, at the stage that can mend it."""
    return tx.write(PARK_TASK, {'after': after, 'stage': stage, 'reason': reason, 'at': at, 'project': project, 'slug': slug, 'before': before})


MERGEABLE_TASKS = Query(
    'mergeable_tasks',
    "SELECT slug, status, stage, assignee FROM tasks WHERE project = :project AND merged IS NULL AND pull_request IS NULL AND archived = 0 AND job IS NULL AND (status = 'done' OR (status IN ('in_progress', 'open') AND stage = 'finisher')) AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug AND d.exec_state IN ('pending', 'in_flight')) ORDER BY priority DESC, changed_at, slug",
    "SELECT slug, status, stage, assignee FROM tasks WHERE project = %(project)s AND merged IS NULL AND pull_request IS NULL AND archived = 0 AND job IS NULL AND (status = 'done' OR (status IN ('in_progress', 'open') AND stage = 'finisher')) AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug AND d.exec_state IN ('pending', 'in_flight')) ORDER BY priority DESC, changed_at, slug",
    MergeableTask,
)


def mergeable_tasks(rows: Rows, /, *, project: str) -> list[MergeableTask]:
    """Tasks whose work waits to be merged: done, or at the stage `finisher`, without an unfinished dispatch or a pull request."""
    return rows.select_all(MERGEABLE_TASKS, MergeableTask, {'project': project})


WAITING_STAGES = Query(
    'waiting_stages',
    "SELECT slug, status, stage, assignee, fixes, reason FROM tasks WHERE project = :project AND archived = 0 AND paused = 0 AND job IS NULL AND ((status = 'blocked' AND stage IN ('fix', 'rebase')) OR (status = 'in_progress' AND stage = 'review')) AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.id = tasks.assignee AND d.kind IN ('fix', 'rebase') AND d.exec_state = 'blocked' AND tasks.status = 'blocked') AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug AND d.exec_state IN ('pending', 'in_flight')) ORDER BY priority DESC, changed_at, slug",
    "SELECT slug, status, stage, assignee, fixes, reason FROM tasks WHERE project = %(project)s AND archived = 0 AND paused = 0 AND job IS NULL AND ((status = 'blocked' AND stage IN ('fix', 'rebase')) OR (status = 'in_progress' AND stage = 'review')) AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.id = tasks.assignee AND d.kind IN ('fix', 'rebase') AND d.exec_state = 'blocked' AND tasks.status = 'blocked') AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug AND d.exec_state IN ('pending', 'in_flight')) ORDER BY priority DESC, changed_at, slug",
    WaitingStage,
)


def waiting_stages(rows: Rows, /, *, project: str) -> list[WaitingStage]:
    """Tasks that wait for an agent at a later stage: to be reviewed or mended. A task that a mending agent left blocked (interrupted, stopped, or by its report) is not among them: it waits to be resumed, or for a person."""
    return rows.select_all(WAITING_STAGES, WaitingStage, {'project': project})


MOVE_TO_SERVER = Query(
    'move_to_server',
    'UPDATE dispatches SET server = :server, updated_at = :at WHERE id = :id',
    'UPDATE dispatches SET server = %(server)s, updated_at = %(at)s WHERE id = %(id)s',
    None,
)


def move_to_server(tx: Tx, /, *, server: str | None, at: int, id: str) -> int:
    """Record that the session of a dispatch was created on another tmux server than planned."""
    return tx.write(MOVE_TO_SERVER, {'server': server, 'at': at, 'id': id})


LAST_SERVER = Query(
    'last_server',
    'SELECT server FROM dispatches WHERE tmux_socket = :socket AND (home IS NULL OR home = :home) AND server IS NOT NULL ORDER BY created_at DESC LIMIT 1',
    'SELECT server FROM dispatches WHERE tmux_socket = %(socket)s AND (home IS NULL OR home = %(home)s) AND server IS NOT NULL ORDER BY created_at DESC LIMIT 1',
    ServerOf,
)


def last_server(rows: Rows, /, *, socket: str, home: str) -> ServerOf | None:
    """The tmux server of the newest dispatch of a home on a tmux socket."""
    return rows.select_one(LAST_SERVER, ServerOf, {'socket': socket, 'home': home})
