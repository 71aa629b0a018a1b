"""The queries of sql/coord.sql, compiled by `make sql`. Do not edit."""

from __future__ import annotations

from fleet.store.queries.reports import Dispatch
from fleet.store.queries.shared import Count, TaskTrouble
from fleet.store.row import Query, Row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.states import DispatchKind, HandoffState, QuestionKind, RemoteControl
    from fleet.store.transaction import Rows, Tx


class Nonce(Row):
    __slots__ = (
        'dispatch',
        'project',
        'hash',
        'minted_at',
        'spent_at',
    )

    def __init__(
        self,
        dispatch: str,
        project: str,
        hash: str,
        minted_at: int,
        spent_at: int | None,
    ) -> None:
        self.dispatch = dispatch
        self.project = project
        self.hash = hash
        self.minted_at = minted_at
        self.spent_at = spent_at


class StaleNonce(Row):
    __slots__ = (
        'dispatch',
        'project',
        'minted_at',
    )

    def __init__(
        self,
        dispatch: str,
        project: str,
        minted_at: int,
    ) -> None:
        self.dispatch = dispatch
        self.project = project
        self.minted_at = minted_at


class Handoff(Row):
    __slots__ = (
        'id',
        'dispatch',
        'project',
        'slug',
        'reason',
        'document',
        'asked_by',
        'at',
        'state',
        'deferred',
        'tries',
        'successor',
        'done_at',
        'mark',
        'fruitless',
        'parked_at',
    )

    def __init__(
        self,
        id: str,
        dispatch: str,
        project: str,
        slug: str | None,
        reason: str,
        document: str,
        asked_by: str,
        at: int,
        state: HandoffState,
        deferred: str | None,
        tries: int,
        successor: str | None,
        done_at: int | None,
        mark: str | None,
        fruitless: int | None,
        parked_at: int | None,
    ) -> None:
        self.id = id
        self.dispatch = dispatch
        self.project = project
        self.slug = slug
        self.reason = reason
        self.document = document
        self.asked_by = asked_by
        self.at = at
        self.state = state
        self.deferred = deferred
        self.tries = tries
        self.successor = successor
        self.done_at = done_at
        self.mark = mark
        self.fruitless = fruitless
        self.parked_at = parked_at


class HandedTo(Row):
    __slots__ = (
        'successor',
    )

    def __init__(
        self,
        successor: str | None,
    ) -> None:
        self.successor = successor


class HandedOffAgent(Row):
    __slots__ = (
        'dispatch',
    )

    def __init__(
        self,
        dispatch: str,
    ) -> None:
        self.dispatch = dispatch


class ParkedByHandoffs(Row):
    __slots__ = (
        'project',
        'slug',
        'reason',
        'dispatch',
        'parked_at',
    )

    def __init__(
        self,
        project: str,
        slug: str,
        reason: str | None,
        dispatch: str,
        parked_at: int,
    ) -> None:
        self.project = project
        self.slug = slug
        self.reason = reason
        self.dispatch = dispatch
        self.parked_at = parked_at


class RemoteControlOf(Row):
    __slots__ = (
        'remote_control',
    )

    def __init__(
        self,
        remote_control: RemoteControl | None,
    ) -> None:
        self.remote_control = remote_control


class HeldSeat(Row):
    __slots__ = (
        'project',
    )

    def __init__(
        self,
        project: str,
    ) -> None:
        self.project = project


class UnansweredQuestion(Row):
    __slots__ = (
        'id',
        'kind',
        'text',
        'command',
        'choices',
        'asked_at',
    )

    def __init__(
        self,
        id: str,
        kind: QuestionKind,
        text: str,
        command: str | None,
        choices: str,
        asked_at: int,
    ) -> None:
        self.id = id
        self.kind = kind
        self.text = text
        self.command = command
        self.choices = choices
        self.asked_at = asked_at


class AgentContext(Row):
    __slots__ = (
        'id',
        'kind',
        'project',
        'slug',
        'home',
        'host',
        'tmux_socket',
        'context',
        'tokens',
        'compacting',
        'reminded',
    )

    def __init__(
        self,
        id: str,
        kind: DispatchKind,
        project: str,
        slug: str | None,
        home: str | None,
        host: str,
        tmux_socket: str,
        context: int | None,
        tokens: int | None,
        compacting: int,
        reminded: int,
    ) -> None:
        self.id = id
        self.kind = kind
        self.project = project
        self.slug = slug
        self.home = home
        self.host = host
        self.tmux_socket = tmux_socket
        self.context = context
        self.tokens = tokens
        self.compacting = compacting
        self.reminded = reminded


class Wake(Row):
    __slots__ = (
        'project',
        'dispatch',
        'told',
        'at',
        'message',
        'trouble',
    )

    def __init__(
        self,
        project: str,
        dispatch: str,
        told: str,
        at: int,
        message: str | None,
        trouble: str | None,
    ) -> None:
        self.project = project
        self.dispatch = dispatch
        self.told = told
        self.at = at
        self.message = message
        self.trouble = trouble


class Restarts(Row):
    __slots__ = (
        'project',
        'holder',
        'tries',
        'at',
    )

    def __init__(
        self,
        project: str,
        holder: str,
        tries: int,
        at: int,
    ) -> None:
        self.project = project
        self.holder = holder
        self.tries = tries
        self.at = at


ADD_NONCE = Query(
    'add_nonce',
    'INSERT INTO nonces (dispatch, project, hash, minted_at) VALUES (:dispatch, :project, :hash, :at) ON CONFLICT DO NOTHING',
    'INSERT INTO nonces (dispatch, project, hash, minted_at) VALUES (%(dispatch)s, %(project)s, %(hash)s, %(at)s) ON CONFLICT DO NOTHING',
    None,
)


def add_nonce(tx: Tx, /, *, dispatch: str, project: str, hash: str, at: int) -> int:
    """Record the hash of the nonce by which a new coordinator will prove itself."""
    return tx.write(ADD_NONCE, {'dispatch': dispatch, 'project': project, 'hash': hash, 'at': at})


NONCE_OF = Query(
    'nonce_of',
    'SELECT dispatch, project, hash, minted_at, spent_at FROM nonces WHERE dispatch = :dispatch',
    'SELECT dispatch, project, hash, minted_at, spent_at FROM nonces WHERE dispatch = %(dispatch)s',
    Nonce,
)


def nonce_of(rows: Rows, /, *, dispatch: str) -> Nonce | None:
    """The hash of a coordinator's nonce, and whether it was presented."""
    return rows.select_one(NONCE_OF, Nonce, {'dispatch': dispatch})


SPEND_NONCE = Query(
    'spend_nonce',
    'UPDATE nonces SET spent_at = :at WHERE dispatch = :dispatch AND spent_at IS NULL',
    'UPDATE nonces SET spent_at = %(at)s WHERE dispatch = %(dispatch)s AND spent_at IS NULL',
    None,
)


def spend_nonce(tx: Tx, /, *, at: int | None, dispatch: str) -> int:
    """Compare and set: record that a nonce was presented; it works once."""
    return tx.write(SPEND_NONCE, {'at': at, 'dispatch': dispatch})


STALE_NONCES = Query(
    'stale_nonces',
    'SELECT n.dispatch, n.project, n.minted_at FROM nonces n WHERE n.spent_at IS NULL AND NOT EXISTS (SELECT 1 FROM seats s WHERE s.candidate = n.dispatch) ORDER BY n.minted_at',
    'SELECT n.dispatch, n.project, n.minted_at FROM nonces n WHERE n.spent_at IS NULL AND NOT EXISTS (SELECT 1 FROM seats s WHERE s.candidate = n.dispatch) ORDER BY n.minted_at',
    StaleNonce,
)


def stale_nonces(rows: Rows, /) -> list[StaleNonce]:
    """Nonces that were never presented and whose dispatch is no longer a candidate: a Replace that failed."""
    return rows.select_all(STALE_NONCES, StaleNonce, {})


OLD_NONCES = Query(
    'old_nonces',
    'SELECT COUNT(*) AS n FROM nonces WHERE spent_at IS NOT NULL AND spent_at < :before',
    'SELECT COUNT(*) AS n FROM nonces WHERE spent_at IS NOT NULL AND spent_at < %(before)s',
    Count,
)


def old_nonces(rows: Rows, /, *, before: int) -> Count:
    """How many nonces were presented before a time."""
    return rows.select_exactly_one(OLD_NONCES, Count, {'before': before})


PRUNE_NONCES = Query(
    'prune_nonces',
    'DELETE FROM nonces WHERE spent_at IS NOT NULL AND spent_at < :before',
    'DELETE FROM nonces WHERE spent_at IS NOT NULL AND spent_at < %(before)s',
    None,
)


def prune_nonces(tx: Tx, /, *, before: int) -> int:
    """Delete nonces that were presented before a time; never one that was not presented."""
    return tx.write(PRUNE_NONCES, {'before': before})


SET_CANDIDATE = Query(
    'set_candidate',
    "UPDATE seats SET candidate = :candidate, deadline = :deadline WHERE project = :project AND candidate IS NULL AND COALESCE(holder, '') = COALESCE(CAST(:holder AS TEXT), '')",
    "UPDATE seats SET candidate = %(candidate)s, deadline = %(deadline)s WHERE project = %(project)s AND candidate IS NULL AND COALESCE(holder, '') = COALESCE(CAST(%(holder)s AS TEXT), '')",
    None,
)


def set_candidate(tx: Tx, /, *, candidate: str | None, deadline: int | None, project: str, holder: str | None) -> int:
    """Compare and set: put a candidate into the seat beside its holder; one candidate at a time."""
    return tx.write(SET_CANDIDATE, {'candidate': candidate, 'deadline': deadline, 'project': project, 'holder': holder})


SEAT_CANDIDATE = Query(
    'seat_candidate',
    'UPDATE seats SET holder = candidate, epoch = epoch + 1, candidate = NULL, deadline = NULL WHERE project = :project AND candidate = :candidate',
    'UPDATE seats SET holder = candidate, epoch = epoch + 1, candidate = NULL, deadline = NULL WHERE project = %(project)s AND candidate = %(candidate)s',
    None,
)


def seat_candidate(tx: Tx, /, *, project: str, candidate: str) -> int:
    """Compare and set: make the candidate the holder of the seat. This is the commit of a Replace."""
    return tx.write(SEAT_CANDIDATE, {'project': project, 'candidate': candidate})


WITHDRAW_CANDIDATE = Query(
    'withdraw_candidate',
    'UPDATE seats SET candidate = NULL, deadline = NULL WHERE project = :project AND candidate = :candidate',
    'UPDATE seats SET candidate = NULL, deadline = NULL WHERE project = %(project)s AND candidate = %(candidate)s',
    None,
)


def withdraw_candidate(tx: Tx, /, *, project: str, candidate: str) -> int:
    """Compare and set: remove the candidate from the seat; the holder stays."""
    return tx.write(WITHDRAW_CANDIDATE, {'project': project, 'candidate': candidate})


EMPTY_SEAT = Query(
    'empty_seat',
    'UPDATE seats SET holder = NULL, epoch = epoch + 1 WHERE project = :project AND holder = :holder',
    'UPDATE seats SET holder = NULL, epoch = epoch + 1 WHERE project = %(project)s AND holder = %(holder)s',
    None,
)


def empty_seat(tx: Tx, /, *, project: str, holder: str) -> int:
    """Compare and set: remove the holder from the seat and put nobody in its place."""
    return tx.write(EMPTY_SEAT, {'project': project, 'holder': holder})


ADD_HANDOFF = Query(
    'add_handoff',
    'INSERT INTO handoffs (id, dispatch, project, slug, reason, document, asked_by, at) VALUES (:id, :dispatch, :project, :slug, :reason, :document, :asked_by, :at) ON CONFLICT DO NOTHING',
    'INSERT INTO handoffs (id, dispatch, project, slug, reason, document, asked_by, at) VALUES (%(id)s, %(dispatch)s, %(project)s, %(slug)s, %(reason)s, %(document)s, %(asked_by)s, %(at)s) ON CONFLICT DO NOTHING',
    None,
)


def add_handoff(tx: Tx, /, *, id: str, dispatch: str, project: str, slug: str | None, reason: str, document: str, asked_by: str, at: int) -> int:
    """Queue a handoff of an agent."""
    return tx.write(ADD_HANDOFF, {'id': id, 'dispatch': dispatch, 'project': project, 'slug': slug, 'reason': reason, 'document': document, 'asked_by': asked_by, 'at': at})


QUEUED_HANDOFF_OF = Query(
    'queued_handoff_of',
    "SELECT * FROM handoffs WHERE dispatch = :dispatch AND state = 'queued'",
    "SELECT * FROM handoffs WHERE dispatch = %(dispatch)s AND state = 'queued'",
    Handoff,
)


def queued_handoff_of(rows: Rows, /, *, dispatch: str) -> Handoff | None:
    """The queued handoff of an agent."""
    return rows.select_one(QUEUED_HANDOFF_OF, Handoff, {'dispatch': dispatch})


QUEUED_HANDOFFS = Query(
    'queued_handoffs',
    "SELECT * FROM handoffs WHERE state = 'queued' AND (CAST(:project AS TEXT) IS NULL OR project = :project) ORDER BY at, id",
    "SELECT * FROM handoffs WHERE state = 'queued' AND (CAST(%(project)s AS TEXT) IS NULL OR project = %(project)s) ORDER BY at, id",
    Handoff,
)


def queued_handoffs(rows: Rows, /, *, project: str | None) -> list[Handoff]:
    """The handoffs that wait to be carried out, oldest first."""
    return rows.select_all(QUEUED_HANDOFFS, Handoff, {'project': project})


LISTED_HANDOFFS = Query(
    'listed_handoffs',
    'SELECT * FROM handoffs WHERE (CAST(:project AS TEXT) IS NULL OR project = :project) ORDER BY at, id',
    'SELECT * FROM handoffs WHERE (CAST(%(project)s AS TEXT) IS NULL OR project = %(project)s) ORDER BY at, id',
    Handoff,
)


def listed_handoffs(rows: Rows, /, *, project: str | None) -> list[Handoff]:
    """All handoffs of one project or of all, oldest first."""
    return rows.select_all(LISTED_HANDOFFS, Handoff, {'project': project})


HANDED_TO = Query(
    'handed_to',
    "SELECT successor FROM handoffs WHERE dispatch = :dispatch AND state = 'done' ORDER BY done_at DESC LIMIT 1",
    "SELECT successor FROM handoffs WHERE dispatch = %(dispatch)s AND state = 'done' ORDER BY done_at DESC LIMIT 1",
    HandedTo,
)


def handed_to(rows: Rows, /, *, dispatch: str) -> HandedTo | None:
    """The successor of an agent that was handed off; no row when no handoff of the agent was completed."""
    return rows.select_one(HANDED_TO, HandedTo, {'dispatch': dispatch})


HANDOFF_BY_ID = Query(
    'handoff_by_id',
    'SELECT * FROM handoffs WHERE id = :id',
    'SELECT * FROM handoffs WHERE id = %(id)s',
    Handoff,
)


def handoff_by_id(rows: Rows, /, *, id: str) -> Handoff | None:
    """A handoff by its id."""
    return rows.select_one(HANDOFF_BY_ID, Handoff, {'id': id})


TRY_HANDOFF = Query(
    'try_handoff',
    "UPDATE handoffs SET tries = tries + 1 WHERE id = :id AND state = 'queued'",
    "UPDATE handoffs SET tries = tries + 1 WHERE id = %(id)s AND state = 'queued'",
    None,
)


def try_handoff(tx: Tx, /, *, id: str) -> int:
    """Count one more attempt to start the successor of a handoff."""
    return tx.write(TRY_HANDOFF, {'id': id})


RENEW_HANDOFF = Query(
    'renew_handoff',
    "UPDATE handoffs SET tries = 0, deferred = NULL WHERE id = :id AND state = 'queued' AND tries > 0",
    "UPDATE handoffs SET tries = 0, deferred = NULL WHERE id = %(id)s AND state = 'queued' AND tries > 0",
    None,
)


def renew_handoff(tx: Tx, /, *, id: str) -> int:
    """Reset the attempts of a handoff that was requested again."""
    return tx.write(RENEW_HANDOFF, {'id': id})


DEFER_HANDOFF = Query(
    'defer_handoff',
    "UPDATE handoffs SET deferred = :why WHERE id = :id AND state = 'queued'",
    "UPDATE handoffs SET deferred = %(why)s WHERE id = %(id)s AND state = 'queued'",
    None,
)


def defer_handoff(tx: Tx, /, *, why: str | None, id: str) -> int:
    """Record why a handoff was postponed."""
    return tx.write(DEFER_HANDOFF, {'why': why, 'id': id})


HANDOFF_BEFORE = Query(
    'handoff_before',
    'SELECT * FROM handoffs WHERE project = :project AND slug = :slug AND fruitless IS NOT NULL AND id <> :id AND at <= :at ORDER BY at DESC, id DESC LIMIT 1',
    'SELECT * FROM handoffs WHERE project = %(project)s AND slug = %(slug)s AND fruitless IS NOT NULL AND id <> %(id)s AND at <= %(at)s ORDER BY at DESC, id DESC LIMIT 1',
    Handoff,
)


def handoff_before(rows: Rows, /, *, project: str, slug: str, id: str, at: int) -> Handoff | None:
    """The newest earlier handoff of the same task whose progress was measured."""
    return rows.select_one(HANDOFF_BEFORE, Handoff, {'project': project, 'slug': slug, 'id': id, 'at': at})


WEIGH_HANDOFF = Query(
    'weigh_handoff',
    "UPDATE handoffs SET mark = :mark, fruitless = :fruitless WHERE id = :id AND state = 'queued'",
    "UPDATE handoffs SET mark = %(mark)s, fruitless = %(fruitless)s WHERE id = %(id)s AND state = 'queued'",
    None,
)


def weigh_handoff(tx: Tx, /, *, mark: str | None, fruitless: int | None, id: str) -> int:
    """Record at a queued handoff the fingerprint of the task's work (`mark`), and how many handoffs in a row have brought no progress."""
    return tx.write(WEIGH_HANDOFF, {'mark': mark, 'fruitless': fruitless, 'id': id})


PARK_HANDOFF = Query(
    'park_handoff',
    'UPDATE handoffs SET mark = :mark, fruitless = :fruitless, parked_at = :at, state = :after, done_at = :at, deferred = NULL WHERE id = :id AND state = :before',
    'UPDATE handoffs SET mark = %(mark)s, fruitless = %(fruitless)s, parked_at = %(at)s, state = %(after)s, done_at = %(at)s, deferred = NULL WHERE id = %(id)s AND state = %(before)s',
    None,
)


def park_handoff(tx: Tx, /, *, mark: str | None, fruitless: int | None, at: int | None, after: HandoffState, id: str, before: HandoffState) -> int:
    """Compare and set: drop a handoff without a successor, because handoffs have brought no progress."""
    return tx.write(PARK_HANDOFF, {'mark': mark, 'fruitless': fruitless, 'at': at, 'after': after, 'id': id, 'before': before})


HANDED_OFF_AGENTS = Query(
    'handed_off_agents',
    'SELECT dispatch FROM handoffs WHERE project = :project AND slug = :slug ORDER BY at DESC, id DESC LIMIT :most',
    'SELECT dispatch FROM handoffs WHERE project = %(project)s AND slug = %(slug)s ORDER BY at DESC, id DESC LIMIT %(most)s',
    HandedOffAgent,
)


def handed_off_agents(rows: Rows, /, *, project: str, slug: str, most: int) -> list[HandedOffAgent]:
    """The agents of a task for which a handoff was requested, newest first; a queued handoff counts, too."""
    return rows.select_all(HANDED_OFF_AGENTS, HandedOffAgent, {'project': project, 'slug': slug, 'most': most})


PARKED_HANDOFF_OF = Query(
    'parked_handoff_of',
    'SELECT * FROM handoffs WHERE dispatch = :dispatch AND parked_at IS NOT NULL ORDER BY parked_at DESC LIMIT 1',
    'SELECT * FROM handoffs WHERE dispatch = %(dispatch)s AND parked_at IS NOT NULL ORDER BY parked_at DESC LIMIT 1',
    Handoff,
)


def parked_handoff_of(rows: Rows, /, *, dispatch: str) -> Handoff | None:
    """The handoff of an agent at which its task was parked."""
    return rows.select_one(PARKED_HANDOFF_OF, Handoff, {'dispatch': dispatch})


HANDOFFS_OF_TASK = Query(
    'handoffs_of_task',
    "SELECT COUNT(*) AS n FROM handoffs WHERE project = :project AND slug = :slug AND (state = 'done' OR parked_at IS NOT NULL)",
    "SELECT COUNT(*) AS n FROM handoffs WHERE project = %(project)s AND slug = %(slug)s AND (state = 'done' OR parked_at IS NOT NULL)",
    Count,
)


def handoffs_of_task(rows: Rows, /, *, project: str, slug: str) -> Count:
    """How many handoffs of a task's agents have ended: with a successor, or with the task parked."""
    return rows.select_exactly_one(HANDOFFS_OF_TASK, Count, {'project': project, 'slug': slug})


TASKS_PARKED_BY_HANDOFFS = Query(
    'tasks_parked_by_handoffs',
    "SELECT t.project, t.slug, t.reason, h.dispatch, h.parked_at FROM handoffs h CROSS JOIN tasks t WHERE t.project = h.project AND t.slug = h.slug AND t.assignee = h.dispatch AND h.parked_at IS NOT NULL AND t.status = 'blocked' AND t.archived = 0 AND t.job IS NULL ORDER BY h.parked_at DESC, h.id",
    "SELECT t.project, t.slug, t.reason, h.dispatch, h.parked_at FROM handoffs h CROSS JOIN tasks t WHERE t.project = h.project AND t.slug = h.slug AND t.assignee = h.dispatch AND h.parked_at IS NOT NULL AND t.status = 'blocked' AND t.archived = 0 AND t.job IS NULL ORDER BY h.parked_at DESC, h.id",
    ParkedByHandoffs,
)


def tasks_parked_by_handoffs(rows: Rows, /) -> list[ParkedByHandoffs]:
    """Tasks that were parked because handoffs brought no progress, and that nobody has continued since, newest first."""
    return rows.select_all(TASKS_PARKED_BY_HANDOFFS, ParkedByHandoffs, {})


END_HANDOFF = Query(
    'end_handoff',
    'UPDATE handoffs SET state = :after, successor = :successor, done_at = :at, deferred = NULL WHERE id = :id AND state = :before',
    'UPDATE handoffs SET state = %(after)s, successor = %(successor)s, done_at = %(at)s, deferred = NULL WHERE id = %(id)s AND state = %(before)s',
    None,
)


def end_handoff(tx: Tx, /, *, after: HandoffState, successor: str | None, at: int | None, id: str, before: HandoffState) -> int:
    """Compare and set: finish a queued handoff, once."""
    return tx.write(END_HANDOFF, {'after': after, 'successor': successor, 'at': at, 'id': id, 'before': before})


OTHER_COORDINATORS = Query(
    'other_coordinators',
    "SELECT d.* FROM dispatches d JOIN seats s ON s.project = d.project WHERE d.project = :project AND d.kind = 'coord' AND d.exec_state IN ('pending', 'in_flight') AND COALESCE(s.holder, '') <> d.id AND COALESCE(s.candidate, '') <> d.id ORDER BY d.created_at, d.id",
    "SELECT d.* FROM dispatches d JOIN seats s ON s.project = d.project WHERE d.project = %(project)s AND d.kind = 'coord' AND d.exec_state IN ('pending', 'in_flight') AND COALESCE(s.holder, '') <> d.id AND COALESCE(s.candidate, '') <> d.id ORDER BY d.created_at, d.id",
    Dispatch,
)


def other_coordinators(rows: Rows, /, *, project: str) -> list[Dispatch]:
    """Unfinished coordinators of a project that are neither the holder nor the candidate of its seat."""
    return rows.select_all(OTHER_COORDINATORS, Dispatch, {'project': project})


SET_REMOTE_CONTROL = Query(
    'set_remote_control',
    "UPDATE projects SET remote_control = :to WHERE name = :project AND COALESCE(remote_control, '') <> :to",
    "UPDATE projects SET remote_control = %(to)s WHERE name = %(project)s AND COALESCE(remote_control, '') <> %(to)s",
    None,
)


def set_remote_control(tx: Tx, /, *, to: RemoteControl, project: str) -> int:
    """Record whether the coordinator of a project may be controlled from another device."""
    return tx.write(SET_REMOTE_CONTROL, {'to': to, 'project': project})


REMOTE_CONTROL_OF = Query(
    'remote_control_of',
    'SELECT remote_control FROM projects WHERE name = :project',
    'SELECT remote_control FROM projects WHERE name = %(project)s',
    RemoteControlOf,
)


def remote_control_of(rows: Rows, /, *, project: str) -> RemoteControlOf | None:
    """Whether the coordinator of a project may be controlled from another device."""
    return rows.select_one(REMOTE_CONTROL_OF, RemoteControlOf, {'project': project})


REMOTE_CONTROLLED = Query(
    'remote_controlled',
    "SELECT p.name AS project FROM projects p JOIN seats s ON s.project = p.name JOIN dispatches d ON d.id = s.holder WHERE p.remote_control = 'up' AND d.engine <> 'fleet' ORDER BY p.name",
    "SELECT p.name AS project FROM projects p JOIN seats s ON s.project = p.name JOIN dispatches d ON d.id = s.holder WHERE p.remote_control = 'up' AND d.engine <> 'fleet' ORDER BY p.name",
    HeldSeat,
)


def remote_controlled(rows: Rows, /) -> list[HeldSeat]:
    """Projects whose coordinator may be controlled from another device and is an agent, not fleet's own loop."""
    return rows.select_all(REMOTE_CONTROLLED, HeldSeat, {})


SUCCESSOR_OF = Query(
    'successor_of',
    "SELECT * FROM dispatches WHERE project = :project AND predecessor = :predecessor AND kind = :kind AND (exec_state <> 'failed' OR launched_at IS NOT NULL) ORDER BY created_at DESC, id LIMIT 1",
    "SELECT * FROM dispatches WHERE project = %(project)s AND predecessor = %(predecessor)s AND kind = %(kind)s AND (exec_state <> 'failed' OR launched_at IS NOT NULL) ORDER BY created_at DESC, id LIMIT 1",
    Dispatch,
)


def successor_of(rows: Rows, /, *, project: str, predecessor: str, kind: DispatchKind) -> Dispatch | None:
    """The dispatch of the same kind that followed another one; one that could not be started does not count."""
    return rows.select_one(SUCCESSOR_OF, Dispatch, {'project': project, 'predecessor': predecessor, 'kind': kind})


COUNT_HANDOFFS = Query(
    'count_handoffs',
    "UPDATE dispatches SET handoffs = :handoffs WHERE id = :id AND exec_state = 'pending'",
    "UPDATE dispatches SET handoffs = %(handoffs)s WHERE id = %(id)s AND exec_state = 'pending'",
    None,
)


def count_handoffs(tx: Tx, /, *, handoffs: int, id: str) -> int:
    """Record how many handoffs led to a pending dispatch."""
    return tx.write(COUNT_HANDOFFS, {'handoffs': handoffs, 'id': id})


QUESTIONS_OF = Query(
    'questions_of',
    'SELECT id, kind, text, command, choices, asked_at FROM questions WHERE dispatch = :dispatch AND answered_at IS NULL AND closed_at IS NULL ORDER BY asked_at, id',
    'SELECT id, kind, text, command, choices, asked_at FROM questions WHERE dispatch = %(dispatch)s AND answered_at IS NULL AND closed_at IS NULL ORDER BY asked_at, id',
    UnansweredQuestion,
)


def questions_of(rows: Rows, /, *, dispatch: str) -> list[UnansweredQuestion]:
    """The unanswered questions of an agent."""
    return rows.select_all(QUESTIONS_OF, UnansweredQuestion, {'dispatch': dispatch})


CONTEXTS = Query(
    'contexts',
    "SELECT d.id, d.kind, d.project, d.slug, d.home, d.host, d.tmux_socket, a.context, a.tokens, a.compacting, EXISTS (SELECT 1 FROM messages m WHERE m.dispatch = d.id AND m.kind = 'reminder' AND m.sender = 'fleet') AS reminded FROM dispatches d JOIN agents a ON a.dispatch = d.id WHERE d.project = :project AND d.exec_state = 'in_flight' AND d.report IS NULL AND d.asked_for IS NULL AND (a.context IS NOT NULL OR a.tokens IS NOT NULL OR a.compacting = 1) AND NOT EXISTS (SELECT 1 FROM handoffs h WHERE h.dispatch = d.id AND h.state = 'queued') ORDER BY d.created_at, d.id",
    "SELECT d.id, d.kind, d.project, d.slug, d.home, d.host, d.tmux_socket, a.context, a.tokens, a.compacting, EXISTS (SELECT 1 FROM messages m WHERE m.dispatch = d.id AND m.kind = 'reminder' AND m.sender = 'fleet') AS reminded FROM dispatches d JOIN agents a ON a.dispatch = d.id WHERE d.project = %(project)s AND d.exec_state = 'in_flight' AND d.report IS NULL AND d.asked_for IS NULL AND (a.context IS NOT NULL OR a.tokens IS NOT NULL OR a.compacting = 1) AND NOT EXISTS (SELECT 1 FROM handoffs h WHERE h.dispatch = d.id AND h.state = 'queued') ORDER BY d.created_at, d.id",
    AgentContext,
)


def contexts(rows: Rows, /, *, project: str) -> list[AgentContext]:
    """How full the contexts of a project's agents are, and whether each was reminded to hand off. Only agents at work: in flight, without a report, a request to exit or a queued handoff."""
    return rows.select_all(CONTEXTS, AgentContext, {'project': project})


TROUBLE_OF = Query(
    'trouble_of',
    "SELECT slug, status, reason FROM tasks WHERE project = :project AND archived = 0 AND status IN ('blocked', 'failed') ORDER BY changed_at DESC, slug LIMIT :most",
    "SELECT slug, status, reason FROM tasks WHERE project = %(project)s AND archived = 0 AND status IN ('blocked', 'failed') ORDER BY changed_at DESC, slug LIMIT %(most)s",
    TaskTrouble,
)


def trouble_of(rows: Rows, /, *, project: str, most: int) -> list[TaskTrouble]:
    """The blocked and failed tasks of a project, which wait for a person."""
    return rows.select_all(TROUBLE_OF, TaskTrouble, {'project': project, 'most': most})


SEATS_HELD_BY = Query(
    'seats_held_by',
    'SELECT project FROM seats WHERE holder = :dispatch',
    'SELECT project FROM seats WHERE holder = %(dispatch)s',
    HeldSeat,
)


def seats_held_by(rows: Rows, /, *, dispatch: str) -> list[HeldSeat]:
    """The projects whose seat a dispatch holds."""
    return rows.select_all(SEATS_HELD_BY, HeldSeat, {'dispatch': dispatch})


WAKE_OF = Query(
    'wake_of',
    'SELECT * FROM wakes WHERE project = :project',
    'SELECT * FROM wakes WHERE project = %(project)s',
    Wake,
)


def wake_of(rows: Rows, /, *, project: str) -> Wake | None:
    """What the coordinator of a project was last told, in a tick or by a message that woke it."""
    return rows.select_one(WAKE_OF, Wake, {'project': project})


TELL_COORDINATOR = Query(
    'tell_coordinator',
    'INSERT INTO wakes (project, dispatch, told, at, message) VALUES (:project, :dispatch, :told, :at, :message) ON CONFLICT (project) DO UPDATE SET dispatch = excluded.dispatch, told = excluded.told, at = excluded.at, message = excluded.message, trouble = CASE WHEN wakes.dispatch = excluded.dispatch THEN wakes.trouble END',
    'INSERT INTO wakes (project, dispatch, told, at, message) VALUES (%(project)s, %(dispatch)s, %(told)s, %(at)s, %(message)s) ON CONFLICT (project) DO UPDATE SET dispatch = excluded.dispatch, told = excluded.told, at = excluded.at, message = excluded.message, trouble = CASE WHEN wakes.dispatch = excluded.dispatch THEN wakes.trouble END',
    None,
)


def tell_coordinator(tx: Tx, /, *, project: str, dispatch: str, told: str, at: int, message: str | None) -> int:
    """Record what a coordinator now knows, because it has ticked or a message that wakes it is on its way. Forget why another one, before it, could not be woken."""
    return tx.write(TELL_COORDINATOR, {'project': project, 'dispatch': dispatch, 'told': told, 'at': at, 'message': message})


NOTE_WAKE_TROUBLE = Query(
    'note_wake_trouble',
    "INSERT INTO wakes (project, dispatch, at, trouble) VALUES (:project, :dispatch, COALESCE((SELECT launched_at FROM dispatches WHERE id = :dispatch), :at), :trouble) ON CONFLICT (project) DO UPDATE SET trouble = excluded.trouble, dispatch = excluded.dispatch, told = CASE WHEN wakes.dispatch = excluded.dispatch THEN wakes.told ELSE '[]' END, at = CASE WHEN wakes.dispatch = excluded.dispatch THEN wakes.at ELSE excluded.at END, message = CASE WHEN wakes.dispatch = excluded.dispatch THEN wakes.message END",
    "INSERT INTO wakes (project, dispatch, at, trouble) VALUES (%(project)s, %(dispatch)s, COALESCE((SELECT launched_at FROM dispatches WHERE id = %(dispatch)s), %(at)s), %(trouble)s) ON CONFLICT (project) DO UPDATE SET trouble = excluded.trouble, dispatch = excluded.dispatch, told = CASE WHEN wakes.dispatch = excluded.dispatch THEN wakes.told ELSE '[]' END, at = CASE WHEN wakes.dispatch = excluded.dispatch THEN wakes.at ELSE excluded.at END, message = CASE WHEN wakes.dispatch = excluded.dispatch THEN wakes.message END",
    None,
)


def note_wake_trouble(tx: Tx, /, *, project: str, dispatch: str, at: int, trouble: str | None) -> int:
    """Record why a coordinator cannot be woken; NULL when it can be woken again. One that was told nothing before was last told at its launch."""
    return tx.write(NOTE_WAKE_TROUBLE, {'project': project, 'dispatch': dispatch, 'at': at, 'trouble': trouble})


REMOVE_WAKE = Query(
    'remove_wake',
    'DELETE FROM wakes WHERE project = :project',
    'DELETE FROM wakes WHERE project = %(project)s',
    None,
)


def remove_wake(tx: Tx, /, *, project: str) -> int:
    """Delete what is recorded about waking a project's coordinator."""
    return tx.write(REMOVE_WAKE, {'project': project})


RESTARTS_OF = Query(
    'restarts_of',
    'SELECT * FROM restarts WHERE project = :project',
    'SELECT * FROM restarts WHERE project = %(project)s',
    Restarts,
)


def restarts_of(rows: Rows, /, *, project: str) -> Restarts | None:
    """How often fleet has restarted its own coordinator loop of a project."""
    return rows.select_one(RESTARTS_OF, Restarts, {'project': project})


COUNT_RESTART = Query(
    'count_restart',
    'INSERT INTO restarts (project, holder, tries, at) VALUES (:project, :holder, :tries, :at) ON CONFLICT (project) DO UPDATE SET holder = excluded.holder, tries = excluded.tries, at = excluded.at WHERE restarts.at = :before',
    'INSERT INTO restarts (project, holder, tries, at) VALUES (%(project)s, %(holder)s, %(tries)s, %(at)s) ON CONFLICT (project) DO UPDATE SET holder = excluded.holder, tries = excluded.tries, at = excluded.at WHERE restarts.at = %(before)s',
    None,
)


def count_restart(tx: Tx, /, *, project: str, holder: str, tries: int, at: int, before: int) -> int:
    """Compare and set: record a restart of fleet's own coordinator loop. `before` is the time of the last restart: of two processes that restart the loop at once, one succeeds."""
    return tx.write(COUNT_RESTART, {'project': project, 'holder': holder, 'tries': tries, 'at': at, 'before': before})


REMOVE_RESTARTS = Query(
    'remove_restarts',
    'DELETE FROM restarts WHERE project = :project',
    'DELETE FROM restarts WHERE project = %(project)s',
    None,
)


def remove_restarts(tx: Tx, /, *, project: str) -> int:
    """Delete the count of restarts of a project."""
    return tx.write(REMOVE_RESTARTS, {'project': project})
