"""The queries of sql/agents.sql, compiled by `make sql`. Do not edit."""

from __future__ import annotations

from fleet.store.queries.shared import Count, Existence
from fleet.store.row import Query, Row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.states import AskedFor, DispatchKind, ExecState, HoldKind, QuestionKind, ReportState
    from fleet.store.transaction import Rows, Tx


class LivingAgent(Row):
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
        'project',
        'slug',
        'kind',
        'report',
        'asked_for',
        'launched_at',
        'host',
        'home',
        'tmux_socket',
        'process',
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
        project: str,
        slug: str | None,
        kind: DispatchKind,
        report: ReportState | None,
        asked_for: AskedFor | None,
        launched_at: int | None,
        host: str,
        home: str | None,
        tmux_socket: str,
        process: str | None,
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
        self.project = project
        self.slug = slug
        self.kind = kind
        self.report = report
        self.asked_for = asked_for
        self.launched_at = launched_at
        self.host = host
        self.home = home
        self.tmux_socket = tmux_socket
        self.process = process


class AskedQuestion(Row):
    __slots__ = (
        'id',
        'dispatch',
        'kind',
        'text',
        'command',
        'choices',
        'asked_at',
        'answer',
        'answered_by',
        'answered_at',
        'closed_at',
        'runs',
        'project',
        'slug',
        'exec_state',
    )

    def __init__(
        self,
        id: str,
        dispatch: str,
        kind: QuestionKind,
        text: str,
        command: str | None,
        choices: str,
        asked_at: int,
        answer: str | None,
        answered_by: str | None,
        answered_at: int | None,
        closed_at: int | None,
        runs: str | None,
        project: str | None,
        slug: str | None,
        exec_state: ExecState | None,
    ) -> None:
        self.id = id
        self.dispatch = dispatch
        self.kind = kind
        self.text = text
        self.command = command
        self.choices = choices
        self.asked_at = asked_at
        self.answer = answer
        self.answered_by = answered_by
        self.answered_at = answered_at
        self.closed_at = closed_at
        self.runs = runs
        self.project = project
        self.slug = slug
        self.exec_state = exec_state


class OpenQuestion(Row):
    __slots__ = (
        'id',
        'dispatch',
        'kind',
        'text',
        'command',
        'choices',
        'asked_at',
        'answer',
        'answered_by',
        'answered_at',
        'closed_at',
        'runs',
        'project',
        'slug',
        'engine',
    )

    def __init__(
        self,
        id: str,
        dispatch: str,
        kind: QuestionKind,
        text: str,
        command: str | None,
        choices: str,
        asked_at: int,
        answer: str | None,
        answered_by: str | None,
        answered_at: int | None,
        closed_at: int | None,
        runs: str | None,
        project: str,
        slug: str | None,
        engine: str | None,
    ) -> None:
        self.id = id
        self.dispatch = dispatch
        self.kind = kind
        self.text = text
        self.command = command
        self.choices = choices
        self.asked_at = asked_at
        self.answer = answer
        self.answered_by = answered_by
        self.answered_at = answered_at
        self.closed_at = closed_at
        self.runs = runs
        self.project = project
        self.slug = slug
        self.engine = engine


class Hold(Row):
    __slots__ = (
        'engine',
        'kind',
        'reason',
        'since',
        'until',
        'trial',
        'tried_at',
    )

    def __init__(
        self,
        engine: str,
        kind: HoldKind,
        reason: str,
        since: int,
        until: int | None,
        trial: str | None,
        tried_at: int | None,
    ) -> None:
        self.engine = engine
        self.kind = kind
        self.reason = reason
        self.since = since
        self.until = until
        self.trial = trial
        self.tried_at = tried_at


class Quota(Row):
    __slots__ = (
        'engine',
        'span',
        'percent',
        'resets_at',
        'at',
    )

    def __init__(
        self,
        engine: str,
        span: str,
        percent: int,
        resets_at: int | None,
        at: int,
    ) -> None:
        self.engine = engine
        self.span = span
        self.percent = percent
        self.resets_at = resets_at
        self.at = at


HEARD_AGENT = Query(
    'heard_agent',
    "SELECT a.*, d.project, d.slug, d.kind, d.report, d.asked_for, d.launched_at, d.host, d.home, d.tmux_socket, d.process FROM agents a JOIN dispatches d ON d.id = a.dispatch WHERE a.dispatch = :dispatch AND a.archived_at IS NULL AND d.exec_state IN ('pending', 'in_flight')",
    "SELECT a.*, d.project, d.slug, d.kind, d.report, d.asked_for, d.launched_at, d.host, d.home, d.tmux_socket, d.process FROM agents a JOIN dispatches d ON d.id = a.dispatch WHERE a.dispatch = %(dispatch)s AND a.archived_at IS NULL AND d.exec_state IN ('pending', 'in_flight')",
    LivingAgent,
)


def heard_agent(rows: Rows, /, *, dispatch: str) -> LivingAgent | None:
    """The record of an agent whose dispatch has not ended, with columns of its dispatch; no row for any other agent."""
    return rows.select_one(HEARD_AGENT, LivingAgent, {'dispatch': dispatch})


LIVING_AGENTS = Query(
    'living_agents',
    "SELECT a.*, d.project, d.slug, d.kind, d.report, d.asked_for, d.launched_at, d.host, d.home, d.tmux_socket, d.process FROM agents a JOIN dispatches d ON d.id = a.dispatch WHERE a.archived_at IS NULL AND d.exec_state IN ('pending', 'in_flight') AND (CAST(:project AS TEXT) IS NULL OR d.project = :project) ORDER BY d.created_at, d.id",
    "SELECT a.*, d.project, d.slug, d.kind, d.report, d.asked_for, d.launched_at, d.host, d.home, d.tmux_socket, d.process FROM agents a JOIN dispatches d ON d.id = a.dispatch WHERE a.archived_at IS NULL AND d.exec_state IN ('pending', 'in_flight') AND (CAST(%(project)s AS TEXT) IS NULL OR d.project = %(project)s) ORDER BY d.created_at, d.id",
    LivingAgent,
)


def living_agents(rows: Rows, /, *, project: str | None) -> list[LivingAgent]:
    """The records of all agents whose dispatch has not ended, with columns of their dispatches, of one project or of all, oldest first."""
    return rows.select_all(LIVING_AGENTS, LivingAgent, {'project': project})


LEARN_AGENT = Query(
    'learn_agent',
    'UPDATE agents SET state = :state, state_at = :state_at, detail = :detail, context = :context, tokens = :tokens, cost = :cost, conversation = :conversation, compacting = :compacting, sent_back = :sent_back, failed_turns = :failed_turns, heartbeat_at = :heartbeat_at WHERE dispatch = :dispatch AND archived_at IS NULL',
    'UPDATE agents SET state = %(state)s, state_at = %(state_at)s, detail = %(detail)s, context = %(context)s, tokens = %(tokens)s, cost = %(cost)s, conversation = %(conversation)s, compacting = %(compacting)s, sent_back = %(sent_back)s, failed_turns = %(failed_turns)s, heartbeat_at = %(heartbeat_at)s WHERE dispatch = %(dispatch)s AND archived_at IS NULL',
    None,
)


def learn_agent(tx: Tx, /, *, state: str | None, state_at: int | None, detail: str | None, context: int | None, tokens: int | None, cost: int | None, conversation: str | None, compacting: int, sent_back: int, failed_turns: int, heartbeat_at: int | None, dispatch: str) -> int:
    """Write what is now known of an agent into its record. Nothing is compared: the caller has read the record in the same transaction."""
    return tx.write(LEARN_AGENT, {'state': state, 'state_at': state_at, 'detail': detail, 'context': context, 'tokens': tokens, 'cost': cost, 'conversation': conversation, 'compacting': compacting, 'sent_back': sent_back, 'failed_turns': failed_turns, 'heartbeat_at': heartbeat_at, 'dispatch': dispatch})


ADD_QUESTION = Query(
    'add_question',
    'INSERT INTO questions (id, dispatch, kind, text, command, runs, choices, asked_at) VALUES (:id, :dispatch, :kind, :text, :command, :runs, :choices, :at) ON CONFLICT DO NOTHING',
    'INSERT INTO questions (id, dispatch, kind, text, command, runs, choices, asked_at) VALUES (%(id)s, %(dispatch)s, %(kind)s, %(text)s, %(command)s, %(runs)s, %(choices)s, %(at)s) ON CONFLICT DO NOTHING',
    None,
)


def add_question(tx: Tx, /, *, id: str, dispatch: str, kind: QuestionKind, text: str, command: str | None, runs: str | None, choices: str, at: int) -> int:
    """Record a question that an agent asks; nothing changes when the id exists."""
    return tx.write(ADD_QUESTION, {'id': id, 'dispatch': dispatch, 'kind': kind, 'text': text, 'command': command, 'runs': runs, 'choices': choices, 'at': at})


QUESTION_BY_ID = Query(
    'question_by_id',
    'SELECT q.*, d.project, d.slug, d.exec_state FROM questions q LEFT JOIN dispatches d ON d.id = q.dispatch WHERE q.id = :id',
    'SELECT q.*, d.project, d.slug, d.exec_state FROM questions q LEFT JOIN dispatches d ON d.id = q.dispatch WHERE q.id = %(id)s',
    AskedQuestion,
)


def question_by_id(rows: Rows, /, *, id: str) -> AskedQuestion | None:
    """A question, with the dispatch of the agent that asks, if it is still in the tables."""
    return rows.select_one(QUESTION_BY_ID, AskedQuestion, {'id': id})


OPEN_QUESTIONS = Query(
    'open_questions',
    "SELECT q.*, d.project, d.slug, d.engine FROM questions q JOIN dispatches d ON d.id = q.dispatch WHERE q.closed_at IS NULL AND q.answer IS NULL AND d.exec_state IN ('pending', 'in_flight') AND (CAST(:dispatch AS TEXT) IS NULL OR q.dispatch = :dispatch) ORDER BY q.asked_at, q.id",
    "SELECT q.*, d.project, d.slug, d.engine FROM questions q JOIN dispatches d ON d.id = q.dispatch WHERE q.closed_at IS NULL AND q.answer IS NULL AND d.exec_state IN ('pending', 'in_flight') AND (CAST(%(dispatch)s AS TEXT) IS NULL OR q.dispatch = %(dispatch)s) ORDER BY q.asked_at, q.id",
    OpenQuestion,
)


def open_questions(rows: Rows, /, *, dispatch: str | None) -> list[OpenQuestion]:
    """Unanswered questions of agents whose dispatch has not ended, of one agent or of all, oldest first."""
    return rows.select_all(OPEN_QUESTIONS, OpenQuestion, {'dispatch': dispatch})


ANSWERED_SINCE = Query(
    'answered_since',
    'SELECT 1 AS yes FROM questions WHERE dispatch = :dispatch AND asked_at >= :since AND answered_at IS NOT NULL LIMIT 1',
    'SELECT 1 AS yes FROM questions WHERE dispatch = %(dispatch)s AND asked_at >= %(since)s AND answered_at IS NOT NULL LIMIT 1',
    Existence,
)


def answered_since(rows: Rows, /, *, dispatch: str, since: int) -> Existence | None:
    """Whether a question that an agent asked since a time was answered."""
    return rows.select_one(ANSWERED_SINCE, Existence, {'dispatch': dispatch, 'since': since})


ANSWER_QUESTION = Query(
    'answer_question',
    'UPDATE questions SET answer = :answer, answered_by = :by, answered_at = :at WHERE id = :id AND answer IS NULL AND closed_at IS NULL',
    'UPDATE questions SET answer = %(answer)s, answered_by = %(by)s, answered_at = %(at)s WHERE id = %(id)s AND answer IS NULL AND closed_at IS NULL',
    None,
)


def answer_question(tx: Tx, /, *, answer: str | None, by: str | None, at: int | None, id: str) -> int:
    """Compare and set: record the answer to a question; only the first answer counts."""
    return tx.write(ANSWER_QUESTION, {'answer': answer, 'by': by, 'at': at, 'id': id})


CLOSE_QUESTION = Query(
    'close_question',
    'UPDATE questions SET closed_at = :at WHERE id = :id AND closed_at IS NULL',
    'UPDATE questions SET closed_at = %(at)s WHERE id = %(id)s AND closed_at IS NULL',
    None,
)


def close_question(tx: Tx, /, *, at: int | None, id: str) -> int:
    """Compare and set: close a question, because the agent has the answer or no longer needs one."""
    return tx.write(CLOSE_QUESTION, {'at': at, 'id': id})


CLOSE_UNANSWERED = Query(
    'close_unanswered',
    'UPDATE questions SET closed_at = :at WHERE id = :id AND closed_at IS NULL AND answer IS NULL',
    'UPDATE questions SET closed_at = %(at)s WHERE id = %(id)s AND closed_at IS NULL AND answer IS NULL',
    None,
)


def close_unanswered(tx: Tx, /, *, at: int | None, id: str) -> int:
    """Compare and set: close a question that nobody answered and whose answer nobody waits for."""
    return tx.write(CLOSE_UNANSWERED, {'at': at, 'id': id})


CLOSE_QUESTIONS = Query(
    'close_questions',
    'UPDATE questions SET closed_at = :at WHERE dispatch = :dispatch AND closed_at IS NULL AND asked_at < :at AND (CAST(:text AS TEXT) IS NULL OR (text = :text AND answer IS NULL))',
    'UPDATE questions SET closed_at = %(at)s WHERE dispatch = %(dispatch)s AND closed_at IS NULL AND asked_at < %(at)s AND (CAST(%(text)s AS TEXT) IS NULL OR (text = %(text)s AND answer IS NULL))',
    None,
)


def close_questions(tx: Tx, /, *, at: int, dispatch: str, text: str | None) -> int:
    """Close the questions that an agent asked before a time, because it went on or ended. With `text`, close only unanswered questions with this text: the question of one tool call."""
    return tx.write(CLOSE_QUESTIONS, {'at': at, 'dispatch': dispatch, 'text': text})


CLOSE_ORPHANED_QUESTIONS = Query(
    'close_orphaned_questions',
    "UPDATE questions SET closed_at = :at WHERE closed_at IS NULL AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.id = questions.dispatch AND d.exec_state IN ('pending', 'in_flight'))",
    "UPDATE questions SET closed_at = %(at)s WHERE closed_at IS NULL AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.id = questions.dispatch AND d.exec_state IN ('pending', 'in_flight'))",
    None,
)


def close_orphaned_questions(tx: Tx, /, *, at: int | None) -> int:
    """Close the questions of agents whose dispatch has ended."""
    return tx.write(CLOSE_ORPHANED_QUESTIONS, {'at': at})


ORPHANED_QUESTIONS = Query(
    'orphaned_questions',
    "SELECT COUNT(*) AS n FROM questions WHERE closed_at IS NULL AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.id = questions.dispatch AND d.exec_state IN ('pending', 'in_flight'))",
    "SELECT COUNT(*) AS n FROM questions WHERE closed_at IS NULL AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.id = questions.dispatch AND d.exec_state IN ('pending', 'in_flight'))",
    Count,
)


def orphaned_questions(rows: Rows, /) -> Count:
    """How many open questions belong to agents whose dispatch has ended."""
    return rows.select_exactly_one(ORPHANED_QUESTIONS, Count, {})


HOLD_OF = Query(
    'hold_of',
    'SELECT engine, kind, reason, since, until, trial, tried_at FROM holds WHERE engine = :engine',
    'SELECT engine, kind, reason, since, until, trial, tried_at FROM holds WHERE engine = %(engine)s',
    Hold,
)


def hold_of(rows: Rows, /, *, engine: str) -> Hold | None:
    """The hold of an engine, if no agent may be started on it now."""
    return rows.select_one(HOLD_OF, Hold, {'engine': engine})


EVERY_HOLD = Query(
    'every_hold',
    'SELECT engine, kind, reason, since, until, trial, tried_at FROM holds ORDER BY engine',
    'SELECT engine, kind, reason, since, until, trial, tried_at FROM holds ORDER BY engine',
    Hold,
)


def every_hold(rows: Rows, /) -> list[Hold]:
    """The holds of all engines."""
    return rows.select_all(EVERY_HOLD, Hold, {})


MOVE_HOLD = Query(
    'move_hold',
    "UPDATE holds SET until = :until WHERE engine = :engine AND kind = 'limit' AND trial IS NULL",
    "UPDATE holds SET until = %(until)s WHERE engine = %(engine)s AND kind = 'limit' AND trial IS NULL",
    None,
)


def move_hold(tx: Tx, /, *, until: int | None, engine: str) -> int:
    """Set the time when a usage limit ends, for an engine that is held by a limit and is not being tried."""
    return tx.write(MOVE_HOLD, {'until': until, 'engine': engine})


HOLD_ENGINE = Query(
    'hold_engine',
    'INSERT INTO holds (engine, kind, reason, since, until, trial) VALUES (:engine, :kind, :reason, :at, :until, NULL) ON CONFLICT (engine) DO UPDATE SET kind = excluded.kind, reason = excluded.reason, since = excluded.since, until = excluded.until, trial = NULL, tried_at = NULL',
    'INSERT INTO holds (engine, kind, reason, since, until, trial) VALUES (%(engine)s, %(kind)s, %(reason)s, %(at)s, %(until)s, NULL) ON CONFLICT (engine) DO UPDATE SET kind = excluded.kind, reason = excluded.reason, since = excluded.since, until = excluded.until, trial = NULL, tried_at = NULL',
    None,
)


def hold_engine(tx: Tx, /, *, engine: str, kind: HoldKind, reason: str, at: int, until: int | None) -> int:
    """Hold an engine: no more agents are started on it. This also ends a trial of the engine, because the trial has failed."""
    return tx.write(HOLD_ENGINE, {'engine': engine, 'kind': kind, 'reason': reason, 'at': at, 'until': until})


TRY_ENGINE = Query(
    'try_engine',
    "UPDATE holds SET trial = :dispatch, tried_at = :at WHERE engine = :engine AND COALESCE(trial, '') = COALESCE(CAST(:was AS TEXT), '')",
    "UPDATE holds SET trial = %(dispatch)s, tried_at = %(at)s WHERE engine = %(engine)s AND COALESCE(trial, '') = COALESCE(CAST(%(was)s AS TEXT), '')",
    None,
)


def try_engine(tx: Tx, /, *, dispatch: str | None, at: int | None, engine: str, was: str | None) -> int:
    """Compare and set: record the dispatch that tries a held engine; `was` is the dispatch of the trial before, NULL for none."""
    return tx.write(TRY_ENGINE, {'dispatch': dispatch, 'at': at, 'engine': engine, 'was': was})


END_HOLD = Query(
    'end_hold',
    'UPDATE holds SET until = :at, trial = NULL, tried_at = NULL WHERE engine = :engine',
    'UPDATE holds SET until = %(at)s, trial = NULL, tried_at = NULL WHERE engine = %(engine)s',
    None,
)


def end_hold(tx: Tx, /, *, at: int | None, engine: str) -> int:
    """End the hold of an engine because a person says that it works: the next dispatch tries it."""
    return tx.write(END_HOLD, {'at': at, 'engine': engine})


LIFT_HOLD = Query(
    'lift_hold',
    'DELETE FROM holds WHERE engine = :engine',
    'DELETE FROM holds WHERE engine = %(engine)s',
    None,
)


def lift_hold(tx: Tx, /, *, engine: str) -> int:
    """Remove the hold of an engine, because the engine works again."""
    return tx.write(LIFT_HOLD, {'engine': engine})


SET_QUOTA = Query(
    'set_quota',
    'INSERT INTO quotas (engine, span, percent, resets_at, at) VALUES (:engine, :span, :percent, :resets_at, :at) ON CONFLICT (engine, span) DO UPDATE SET percent = excluded.percent, resets_at = excluded.resets_at, at = excluded.at WHERE quotas.at <= excluded.at',
    'INSERT INTO quotas (engine, span, percent, resets_at, at) VALUES (%(engine)s, %(span)s, %(percent)s, %(resets_at)s, %(at)s) ON CONFLICT (engine, span) DO UPDATE SET percent = excluded.percent, resets_at = excluded.resets_at, at = excluded.at WHERE quotas.at <= excluded.at',
    None,
)


def set_quota(tx: Tx, /, *, engine: str, span: str, percent: int, resets_at: int | None, at: int) -> int:
    """Record how much of an engine's quota window is used, unless a newer report is recorded."""
    return tx.write(SET_QUOTA, {'engine': engine, 'span': span, 'percent': percent, 'resets_at': resets_at, 'at': at})


QUOTAS_OF = Query(
    'quotas_of',
    'SELECT engine, span, percent, resets_at, at FROM quotas WHERE engine = :engine ORDER BY span',
    'SELECT engine, span, percent, resets_at, at FROM quotas WHERE engine = %(engine)s ORDER BY span',
    Quota,
)


def quotas_of(rows: Rows, /, *, engine: str) -> list[Quota]:
    """The quota windows of one engine."""
    return rows.select_all(QUOTAS_OF, Quota, {'engine': engine})


ALL_QUOTAS = Query(
    'all_quotas',
    'SELECT engine, span, percent, resets_at, at FROM quotas ORDER BY engine, span',
    'SELECT engine, span, percent, resets_at, at FROM quotas ORDER BY engine, span',
    Quota,
)


def all_quotas(rows: Rows, /) -> list[Quota]:
    """The quota windows of all engines."""
    return rows.select_all(ALL_QUOTAS, Quota, {})
