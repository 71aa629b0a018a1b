"""The queries of sql/views.sql, compiled by `make sql`. Do not edit."""

from __future__ import annotations

from fleet.store.queries.shared import Existence
from fleet.store.row import Query, Row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.states import AskedFor, ClaimState, DispatchKind, ExecState, HoldKind, QuestionKind, ReportState, Resumes, ReviewVerdict, TaskStatus
    from fleet.store.transaction import Rows, Tx


class QueuedReview(Row):
    __slots__ = (
        'project',
        'slug',
        'title',
        'status',
        'assignee',
        'fixes',
        'reason',
        'priority',
        'changed_at',
    )

    def __init__(
        self,
        project: str,
        slug: str,
        title: str,
        status: TaskStatus,
        assignee: str | None,
        fixes: int,
        reason: str | None,
        priority: int,
        changed_at: int,
    ) -> None:
        self.project = project
        self.slug = slug
        self.title = title
        self.status = status
        self.assignee = assignee
        self.fixes = fixes
        self.reason = reason
        self.priority = priority
        self.changed_at = changed_at


class Verdict(Row):
    __slots__ = (
        'at',
        'actor',
        'verdict',
        'comments',
        'work',
        'counted',
    )

    def __init__(
        self,
        at: int,
        actor: str,
        verdict: ReviewVerdict,
        comments: str,
        work: str | None,
        counted: int,
    ) -> None:
        self.at = at
        self.actor = actor
        self.verdict = verdict
        self.comments = comments
        self.work = work
        self.counted = counted


class PullRequest(Row):
    __slots__ = (
        'title',
        'description',
        'status',
        'stage',
        'pull_request',
        'merged',
    )

    def __init__(
        self,
        title: str,
        description: str,
        status: TaskStatus,
        stage: str,
        pull_request: str | None,
        merged: str | None,
    ) -> None:
        self.title = title
        self.description = description
        self.status = status
        self.stage = stage
        self.pull_request = pull_request
        self.merged = merged


class TaskToPull(Row):
    __slots__ = (
        'slug',
        'pull_request',
    )

    def __init__(
        self,
        slug: str,
        pull_request: str | None,
    ) -> None:
        self.slug = slug
        self.pull_request = pull_request


class MergedTask(Row):
    __slots__ = (
        'project',
        'slug',
        'title',
        'merged',
        'merged_at',
    )

    def __init__(
        self,
        project: str,
        slug: str,
        title: str,
        merged: str,
        merged_at: int,
    ) -> None:
        self.project = project
        self.slug = slug
        self.title = title
        self.merged = merged
        self.merged_at = merged_at


class SettledDispatch(Row):
    __slots__ = (
        'at',
        'project',
        'slug',
        'dispatch',
        'what',
    )

    def __init__(
        self,
        at: int,
        project: str,
        slug: str | None,
        dispatch: str,
        what: str,
    ) -> None:
        self.at = at
        self.project = project
        self.slug = slug
        self.dispatch = dispatch
        self.what = what


class ArchivedDispatch(Row):
    __slots__ = (
        'dispatch',
        'what',
    )

    def __init__(
        self,
        dispatch: str,
        what: str,
    ) -> None:
        self.dispatch = dispatch
        self.what = what


class Spending(Row):
    __slots__ = (
        'dispatch',
        'tokens',
        'cost',
    )

    def __init__(
        self,
        dispatch: str,
        tokens: int | None,
        cost: int | None,
    ) -> None:
        self.dispatch = dispatch
        self.tokens = tokens
        self.cost = cost


class WaitingQuestion(Row):
    __slots__ = (
        'id',
        'dispatch',
        'kind',
        'text',
        'command',
        'asked_at',
        'project',
        'slug',
    )

    def __init__(
        self,
        id: str,
        dispatch: str,
        kind: QuestionKind,
        text: str,
        command: str | None,
        asked_at: int,
        project: str,
        slug: str | None,
    ) -> None:
        self.id = id
        self.dispatch = dispatch
        self.kind = kind
        self.text = text
        self.command = command
        self.asked_at = asked_at
        self.project = project
        self.slug = slug


class ParkedTask(Row):
    __slots__ = (
        'project',
        'slug',
        'title',
        'status',
        'stage',
        'reason',
        'not_before',
        'changed_at',
    )

    def __init__(
        self,
        project: str,
        slug: str,
        title: str,
        status: TaskStatus,
        stage: str,
        reason: str | None,
        not_before: int | None,
        changed_at: int,
    ) -> None:
        self.project = project
        self.slug = slug
        self.title = title
        self.status = status
        self.stage = stage
        self.reason = reason
        self.not_before = not_before
        self.changed_at = changed_at


class FailedTask(Row):
    __slots__ = (
        'project',
        'slug',
        'title',
        'reason',
        'changed_at',
    )

    def __init__(
        self,
        project: str,
        slug: str,
        title: str,
        reason: str | None,
        changed_at: int,
    ) -> None:
        self.project = project
        self.slug = slug
        self.title = title
        self.reason = reason
        self.changed_at = changed_at


class TaskOnHand(Row):
    __slots__ = (
        'project',
        'slug',
        'title',
        'stage',
        'assignee',
        'started_at',
        'changed_at',
        'pull_request',
    )

    def __init__(
        self,
        project: str,
        slug: str,
        title: str,
        stage: str,
        assignee: str,
        started_at: int | None,
        changed_at: int,
        pull_request: str | None,
    ) -> None:
        self.project = project
        self.slug = slug
        self.title = title
        self.stage = stage
        self.assignee = assignee
        self.started_at = started_at
        self.changed_at = changed_at
        self.pull_request = pull_request


class TaskSlug(Row):
    __slots__ = (
        'slug',
    )

    def __init__(
        self,
        slug: str,
    ) -> None:
        self.slug = slug


class AttemptTitle(Row):
    __slots__ = (
        'project',
        'slug',
        'title',
    )

    def __init__(
        self,
        project: str,
        slug: str,
        title: str,
    ) -> None:
        self.project = project
        self.slug = slug
        self.title = title


class UnmergedTask(Row):
    __slots__ = (
        'project',
        'slug',
        'title',
        'pull_request',
        'changed_at',
    )

    def __init__(
        self,
        project: str,
        slug: str,
        title: str,
        pull_request: str | None,
        changed_at: int,
    ) -> None:
        self.project = project
        self.slug = slug
        self.title = title
        self.pull_request = pull_request
        self.changed_at = changed_at


class ProjectName(Row):
    __slots__ = (
        'name',
    )

    def __init__(
        self,
        name: str,
    ) -> None:
        self.name = name


class PageCount(Row):
    __slots__ = (
        'review',
        'failed',
        'blocked',
        'early',
        'claimed',
        'to_merge',
        'unmerged',
    )

    def __init__(
        self,
        review: int,
        failed: int,
        blocked: int,
        early: int,
        claimed: int,
        to_merge: int,
        unmerged: int,
    ) -> None:
        self.review = review
        self.failed = failed
        self.blocked = blocked
        self.early = early
        self.claimed = claimed
        self.to_merge = to_merge
        self.unmerged = unmerged


class EngineHold(Row):
    __slots__ = (
        'engine',
        'kind',
        'reason',
        'since',
        'until',
    )

    def __init__(
        self,
        engine: str,
        kind: HoldKind,
        reason: str,
        since: int,
        until: int | None,
    ) -> None:
        self.engine = engine
        self.kind = kind
        self.reason = reason
        self.since = since
        self.until = until


class ClaimsElsewhere(Row):
    __slots__ = (
        'host',
        'home',
        'tmux_socket',
        'path',
        'name',
        'n',
    )

    def __init__(
        self,
        host: str,
        home: str | None,
        tmux_socket: str,
        path: str | None,
        name: str | None,
        n: int,
    ) -> None:
        self.host = host
        self.home = home
        self.tmux_socket = tmux_socket
        self.path = path
        self.name = name
        self.n = n


class StepFacts(Row):
    __slots__ = (
        'project',
        'slug',
        'status',
        'stage',
        'paused',
        'archived',
        'not_before',
        'open_blockers',
        'fixes',
        'assignee',
        'work',
        'merged',
        'job',
        'pull_request',
        'attempted',
        'bundled',
        'is_agents',
        'is_handed',
        'is_parked',
        'question',
        'left_kind',
        'exec_state',
        'report',
        'asked_for',
        'blocked_reason',
        'launched_at',
        'resumes',
        'home',
        'host',
        'tmux_socket',
    )

    def __init__(
        self,
        project: str,
        slug: str,
        status: TaskStatus,
        stage: str,
        paused: int,
        archived: int,
        not_before: int | None,
        open_blockers: int,
        fixes: int,
        assignee: str | None,
        work: str | None,
        merged: str | None,
        job: str | None,
        pull_request: str | None,
        attempted: int,
        bundled: int,
        is_agents: int,
        is_handed: int,
        is_parked: int,
        question: str | None,
        left_kind: DispatchKind | None,
        exec_state: ExecState | None,
        report: ReportState | None,
        asked_for: AskedFor | None,
        blocked_reason: str | None,
        launched_at: int | None,
        resumes: Resumes | None,
        home: str | None,
        host: str | None,
        tmux_socket: str | None,
    ) -> None:
        self.project = project
        self.slug = slug
        self.status = status
        self.stage = stage
        self.paused = paused
        self.archived = archived
        self.not_before = not_before
        self.open_blockers = open_blockers
        self.fixes = fixes
        self.assignee = assignee
        self.work = work
        self.merged = merged
        self.job = job
        self.pull_request = pull_request
        self.attempted = attempted
        self.bundled = bundled
        self.is_agents = is_agents
        self.is_handed = is_handed
        self.is_parked = is_parked
        self.question = question
        self.left_kind = left_kind
        self.exec_state = exec_state
        self.report = report
        self.asked_for = asked_for
        self.blocked_reason = blocked_reason
        self.launched_at = launched_at
        self.resumes = resumes
        self.home = home
        self.host = host
        self.tmux_socket = tmux_socket


class ShownTask(Row):
    __slots__ = (
        'project',
        'slug',
        'title',
        'status',
        'stage',
        'paused',
        'not_before',
        'open_blockers',
        'assignee',
        'reason',
        'changed_at',
        'merged',
        'bundle',
    )

    def __init__(
        self,
        project: str,
        slug: str,
        title: str,
        status: TaskStatus,
        stage: str,
        paused: int,
        not_before: int | None,
        open_blockers: int,
        assignee: str | None,
        reason: str | None,
        changed_at: int,
        merged: str | None,
        bundle: str | None,
    ) -> None:
        self.project = project
        self.slug = slug
        self.title = title
        self.status = status
        self.stage = stage
        self.paused = paused
        self.not_before = not_before
        self.open_blockers = open_blockers
        self.assignee = assignee
        self.reason = reason
        self.changed_at = changed_at
        self.merged = merged
        self.bundle = bundle


class KeptThing(Row):
    __slots__ = (
        'kind',
        'name',
        'state',
        'dispatch',
        'project',
        'slug',
        'updated_at',
        'bundle',
    )

    def __init__(
        self,
        kind: str,
        name: str,
        state: ClaimState,
        dispatch: str | None,
        project: str | None,
        slug: str | None,
        updated_at: int,
        bundle: str | None,
    ) -> None:
        self.kind = kind
        self.name = name
        self.state = state
        self.dispatch = dispatch
        self.project = project
        self.slug = slug
        self.updated_at = updated_at
        self.bundle = bundle


class LaunchOrEnd(Row):
    __slots__ = (
        'at',
        'why',
        'project',
        'slug',
        'dispatch',
        'what',
    )

    def __init__(
        self,
        at: int,
        why: str,
        project: str | None,
        slug: str | None,
        dispatch: str | None,
        what: str,
    ) -> None:
        self.at = at
        self.why = why
        self.project = project
        self.slug = slug
        self.dispatch = dispatch
        self.what = what


REVIEW_QUEUE = Query(
    'review_queue',
    "SELECT project, slug, title, status, assignee, fixes, reason, priority, changed_at FROM tasks WHERE stage = 'review' AND status IN ('in_progress', 'blocked', 'open') AND archived = 0 AND job IS NULL AND (CAST(:project AS TEXT) IS NULL OR project = :project) AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug AND d.exec_state IN ('pending', 'in_flight')) ORDER BY priority DESC, changed_at, project, slug LIMIT :most",
    "SELECT project, slug, title, status, assignee, fixes, reason, priority, changed_at FROM tasks WHERE stage = 'review' AND status IN ('in_progress', 'blocked', 'open') AND archived = 0 AND job IS NULL AND (CAST(%(project)s AS TEXT) IS NULL OR project = %(project)s) AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug AND d.exec_state IN ('pending', 'in_flight')) ORDER BY priority DESC, changed_at, project, slug LIMIT %(most)s",
    QueuedReview,
)


def review_queue(rows: Rows, /, *, project: str | None, most: int) -> list[QueuedReview]:
    """Tasks whose work waits for a review and on which no dispatch works, most urgent first."""
    return rows.select_all(REVIEW_QUEUE, QueuedReview, {'project': project, 'most': most})


ADD_VERDICT = Query(
    'add_verdict',
    'INSERT INTO verdicts (project, slug, seq, at, actor, verdict, comments, work, counted) VALUES (:project, :slug, :seq, :at, :actor, :verdict, :comments, :work, :counted)',
    'INSERT INTO verdicts (project, slug, seq, at, actor, verdict, comments, work, counted) VALUES (%(project)s, %(slug)s, %(seq)s, %(at)s, %(actor)s, %(verdict)s, %(comments)s, %(work)s, %(counted)s)',
    None,
)


def add_verdict(tx: Tx, /, *, project: str, slug: str, seq: int, at: int, actor: str, verdict: ReviewVerdict, comments: str, work: str | None, counted: int) -> int:
    """Record a reviewer's verdict. `counted` is 0 for a verdict that decides nothing, because another one came first or the reviewer was superseded; its comments are kept."""
    return tx.write(ADD_VERDICT, {'project': project, 'slug': slug, 'seq': seq, 'at': at, 'actor': actor, 'verdict': verdict, 'comments': comments, 'work': work, 'counted': counted})


ACCEPTED_WORK = Query(
    'accepted_work',
    "SELECT 1 AS yes FROM verdicts WHERE project = :project AND slug = :slug AND verdict = 'accept' AND work = :work AND counted = 1 LIMIT 1",
    "SELECT 1 AS yes FROM verdicts WHERE project = %(project)s AND slug = %(slug)s AND verdict = 'accept' AND work = %(work)s AND counted = 1 LIMIT 1",
    Existence,
)


def accepted_work(rows: Rows, /, *, project: str, slug: str, work: str) -> Existence | None:
    """Whether a commit of a task's work was accepted by a review."""
    return rows.select_one(ACCEPTED_WORK, Existence, {'project': project, 'slug': slug, 'work': work})


VERDICTS_OF = Query(
    'verdicts_of',
    'SELECT at, actor, verdict, comments, work, counted FROM verdicts WHERE project = :project AND slug = :slug ORDER BY seq',
    'SELECT at, actor, verdict, comments, work, counted FROM verdicts WHERE project = %(project)s AND slug = %(slug)s ORDER BY seq',
    Verdict,
)


def verdicts_of(rows: Rows, /, *, project: str, slug: str) -> list[Verdict]:
    """The verdicts on a task's work, oldest first."""
    return rows.select_all(VERDICTS_OF, Verdict, {'project': project, 'slug': slug})


JUDGE_TASK = Query(
    'judge_task',
    "UPDATE tasks SET status = :after, stage = :stage, reason = :reason, work = COALESCE(CAST(:work AS TEXT), work), assignee = COALESCE(assignee, :actor), changed_at = :at WHERE project = :project AND slug = :slug AND stage = 'review' AND status = :before AND COALESCE(assignee, '') = COALESCE(CAST(:assignee AS TEXT), '')",
    "UPDATE tasks SET status = %(after)s, stage = %(stage)s, reason = %(reason)s, work = COALESCE(CAST(%(work)s AS TEXT), work), assignee = COALESCE(assignee, %(actor)s), changed_at = %(at)s WHERE project = %(project)s AND slug = %(slug)s AND stage = 'review' AND status = %(before)s AND COALESCE(assignee, '') = COALESCE(CAST(%(assignee)s AS TEXT), '')",
    None,
)


def judge_task(tx: Tx, /, *, after: TaskStatus, stage: str, reason: str | None, work: str | None, actor: str, at: int, project: str, slug: str, before: TaskStatus, assignee: str | None) -> int:
    """Compare and set: move a task under review to its next stage, or send it back, and record the commit that the verdict is about."""
    return tx.write(JUDGE_TASK, {'after': after, 'stage': stage, 'reason': reason, 'work': work, 'actor': actor, 'at': at, 'project': project, 'slug': slug, 'before': before, 'assignee': assignee})


PULL_REQUEST_OF = Query(
    'pull_request_of',
    'SELECT title, description, status, stage, pull_request, merged FROM tasks WHERE project = :project AND slug = :slug',
    'SELECT title, description, status, stage, pull_request, merged FROM tasks WHERE project = %(project)s AND slug = %(slug)s',
    PullRequest,
)


def pull_request_of(rows: Rows, /, *, project: str, slug: str) -> PullRequest | None:
    """The pull request of a task, and the task's state."""
    return rows.select_one(PULL_REQUEST_OF, PullRequest, {'project': project, 'slug': slug})


SET_PULL_REQUEST = Query(
    'set_pull_request',
    "UPDATE tasks SET pull_request = :pull_request, changed_at = :at WHERE project = :project AND slug = :slug AND COALESCE(pull_request, '') = COALESCE(CAST(:was AS TEXT), '')",
    "UPDATE tasks SET pull_request = %(pull_request)s, changed_at = %(at)s WHERE project = %(project)s AND slug = %(slug)s AND COALESCE(pull_request, '') = COALESCE(CAST(%(was)s AS TEXT), '')",
    None,
)


def set_pull_request(tx: Tx, /, *, pull_request: str | None, at: int, project: str, slug: str, was: str | None) -> int:
    """Compare and set: set the address of a task's only pull request."""
    return tx.write(SET_PULL_REQUEST, {'pull_request': pull_request, 'at': at, 'project': project, 'slug': slug, 'was': was})


TASKS_TO_PULL = Query(
    'tasks_to_pull',
    "SELECT slug, pull_request FROM tasks WHERE project = :project AND merged IS NULL AND archived = 0 AND job IS NULL AND (status = 'done' OR (status IN ('in_progress', 'open') AND stage = 'finisher')) AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug AND d.exec_state IN ('pending', 'in_flight')) ORDER BY priority DESC, changed_at, slug",
    "SELECT slug, pull_request FROM tasks WHERE project = %(project)s AND merged IS NULL AND archived = 0 AND job IS NULL AND (status = 'done' OR (status IN ('in_progress', 'open') AND stage = 'finisher')) AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug AND d.exec_state IN ('pending', 'in_flight')) ORDER BY priority DESC, changed_at, slug",
    TaskToPull,
)


def tasks_to_pull(rows: Rows, /, *, project: str) -> list[TaskToPull]:
    """Tasks at their last stage, without an unfinished dispatch: those with a pull request, and those that may get one."""
    return rows.select_all(TASKS_TO_PULL, TaskToPull, {'project': project})


MERGED_SINCE = Query(
    'merged_since',
    'SELECT project, slug, title, merged, merged_at FROM tasks WHERE merged_at >= :since AND job IS NULL AND (CAST(:project AS TEXT) IS NULL OR project = :project) ORDER BY merged_at, project, slug',
    'SELECT project, slug, title, merged, merged_at FROM tasks WHERE merged_at >= %(since)s AND job IS NULL AND (CAST(%(project)s AS TEXT) IS NULL OR project = %(project)s) ORDER BY merged_at, project, slug',
    MergedTask,
)


def merged_since(rows: Rows, /, *, since: int, project: str | None) -> list[MergedTask]:
    """Tasks that were merged since a time, oldest first."""
    return rows.select_all(MERGED_SINCE, MergedTask, {'since': since, 'project': project})


SETTLED_SINCE = Query(
    'settled_since',
    "SELECT at, project, slug, dispatch, what FROM operations WHERE at >= :since AND why LIKE 'settle %' AND (CAST(:project AS TEXT) IS NULL OR project = :project) ORDER BY seq",
    "SELECT at, project, slug, dispatch, what FROM operations WHERE at >= %(since)s AND why LIKE 'settle %%' AND (CAST(%(project)s AS TEXT) IS NULL OR project = %(project)s) ORDER BY seq",
    SettledDispatch,
)


def settled_since(rows: Rows, /, *, since: int, project: str | None) -> list[SettledDispatch]:
    """The operations that settled dispatches since a time, oldest first."""
    return rows.select_all(SETTLED_SINCE, SettledDispatch, {'since': since, 'project': project})


ARCHIVED_SINCE = Query(
    'archived_since',
    "SELECT dispatch, what FROM operations WHERE at >= :since AND why LIKE 'archive %' AND dispatch IS NOT NULL AND (CAST(:project AS TEXT) IS NULL OR project = :project)",
    "SELECT dispatch, what FROM operations WHERE at >= %(since)s AND why LIKE 'archive %%' AND dispatch IS NOT NULL AND (CAST(%(project)s AS TEXT) IS NULL OR project = %(project)s)",
    ArchivedDispatch,
)


def archived_since(rows: Rows, /, *, since: int, project: str | None) -> list[ArchivedDispatch]:
    """The operations that archived journals since a time, with what the agents had spent."""
    return rows.select_all(ARCHIVED_SINCE, ArchivedDispatch, {'since': since, 'project': project})


SPENDING = Query(
    'spending',
    'SELECT a.dispatch, a.tokens, a.cost FROM agents a JOIN dispatches d ON d.id = a.dispatch WHERE (a.archived_at IS NULL OR a.archived_at >= :since) AND (CAST(:project AS TEXT) IS NULL OR d.project = :project)',
    'SELECT a.dispatch, a.tokens, a.cost FROM agents a JOIN dispatches d ON d.id = a.dispatch WHERE (a.archived_at IS NULL OR a.archived_at >= %(since)s) AND (CAST(%(project)s AS TEXT) IS NULL OR d.project = %(project)s)',
    Spending,
)


def spending(rows: Rows, /, *, since: int, project: str | None) -> list[Spending]:
    """What each agent has spent that worked since a time and whose record is still in the tables."""
    return rows.select_all(SPENDING, Spending, {'since': since, 'project': project})


WAITING_QUESTIONS = Query(
    'waiting_questions',
    "SELECT u.id, u.dispatch, u.kind, u.text, u.command, u.asked_at, d.project, d.slug FROM questions u JOIN dispatches d ON d.id = u.dispatch WHERE u.closed_at IS NULL AND u.answered_at IS NULL AND d.exec_state IN ('pending', 'in_flight') ORDER BY u.asked_at, u.id",
    "SELECT u.id, u.dispatch, u.kind, u.text, u.command, u.asked_at, d.project, d.slug FROM questions u JOIN dispatches d ON d.id = u.dispatch WHERE u.closed_at IS NULL AND u.answered_at IS NULL AND d.exec_state IN ('pending', 'in_flight') ORDER BY u.asked_at, u.id",
    WaitingQuestion,
)


def waiting_questions(rows: Rows, /) -> list[WaitingQuestion]:
    """Unanswered questions of agents to a person, oldest first."""
    return rows.select_all(WAITING_QUESTIONS, WaitingQuestion, {})


BLOCKED_TASKS = Query(
    'blocked_tasks',
    "SELECT project, slug, title, status, stage, reason, not_before, changed_at FROM tasks WHERE status = 'blocked' AND job IS NULL AND stage <> 'review' AND (CAST(:project AS TEXT) IS NULL OR project = :project) AND NOT EXISTS (SELECT 1 FROM handoffs h WHERE h.project = tasks.project AND h.slug = tasks.slug AND h.dispatch = tasks.assignee AND h.parked_at IS NOT NULL) ORDER BY changed_at DESC, project, slug LIMIT :most",
    "SELECT project, slug, title, status, stage, reason, not_before, changed_at FROM tasks WHERE status = 'blocked' AND job IS NULL AND stage <> 'review' AND (CAST(%(project)s AS TEXT) IS NULL OR project = %(project)s) AND NOT EXISTS (SELECT 1 FROM handoffs h WHERE h.project = tasks.project AND h.slug = tasks.slug AND h.dispatch = tasks.assignee AND h.parked_at IS NOT NULL) ORDER BY changed_at DESC, project, slug LIMIT %(most)s",
    ParkedTask,
)


def blocked_tasks(rows: Rows, /, *, project: str | None, most: int) -> list[ParkedTask]:
    """Blocked tasks, newest first, without those listed elsewhere: reviews, and tasks parked because handoffs brought no progress."""
    return rows.select_all(BLOCKED_TASKS, ParkedTask, {'project': project, 'most': most})


EARLY_TASKS = Query(
    'early_tasks',
    "SELECT project, slug, title, status, stage, reason, not_before, changed_at FROM tasks WHERE status = 'open' AND job IS NULL AND not_before > :now AND (CAST(:project AS TEXT) IS NULL OR project = :project) ORDER BY changed_at DESC, project, slug LIMIT :most",
    "SELECT project, slug, title, status, stage, reason, not_before, changed_at FROM tasks WHERE status = 'open' AND job IS NULL AND not_before > %(now)s AND (CAST(%(project)s AS TEXT) IS NULL OR project = %(project)s) ORDER BY changed_at DESC, project, slug LIMIT %(most)s",
    ParkedTask,
)


def early_tasks(rows: Rows, /, *, now: int, project: str | None, most: int) -> list[ParkedTask]:
    """Open tasks that wait for a time, newest first."""
    return rows.select_all(EARLY_TASKS, ParkedTask, {'now': now, 'project': project, 'most': most})


FAILED_TASKS = Query(
    'failed_tasks',
    "SELECT project, slug, title, reason, changed_at FROM tasks WHERE status = 'failed' AND archived = 0 AND job IS NULL AND (CAST(:project AS TEXT) IS NULL OR project = :project) ORDER BY changed_at DESC, project, slug LIMIT :most",
    "SELECT project, slug, title, reason, changed_at FROM tasks WHERE status = 'failed' AND archived = 0 AND job IS NULL AND (CAST(%(project)s AS TEXT) IS NULL OR project = %(project)s) ORDER BY changed_at DESC, project, slug LIMIT %(most)s",
    FailedTask,
)


def failed_tasks(rows: Rows, /, *, project: str | None, most: int) -> list[FailedTask]:
    """Failed tasks, newest first."""
    return rows.select_all(FAILED_TASKS, FailedTask, {'project': project, 'most': most})


CLAIMED_TASKS = Query(
    'claimed_tasks',
    "SELECT project, slug, title, stage, assignee, started_at, changed_at, pull_request FROM tasks WHERE status = 'in_progress' AND job IS NULL AND stage NOT IN ('review', 'finisher') AND (CAST(:project AS TEXT) IS NULL OR project = :project) AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug AND d.exec_state IN ('pending', 'in_flight')) ORDER BY started_at, project, slug LIMIT :most",
    "SELECT project, slug, title, stage, assignee, started_at, changed_at, pull_request FROM tasks WHERE status = 'in_progress' AND job IS NULL AND stage NOT IN ('review', 'finisher') AND (CAST(%(project)s AS TEXT) IS NULL OR project = %(project)s) AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug AND d.exec_state IN ('pending', 'in_flight')) ORDER BY started_at, project, slug LIMIT %(most)s",
    TaskOnHand,
)


def claimed_tasks(rows: Rows, /, *, project: str | None, most: int) -> list[TaskOnHand]:
    """Tasks in progress without an agent at work that wait for neither a review nor a merge, oldest first."""
    return rows.select_all(CLAIMED_TASKS, TaskOnHand, {'project': project, 'most': most})


TASKS_TO_MERGE = Query(
    'tasks_to_merge',
    "SELECT project, slug, title, stage, assignee, started_at, changed_at, pull_request FROM tasks WHERE status = 'in_progress' AND job IS NULL AND stage = 'finisher' AND (CAST(:project AS TEXT) IS NULL OR project = :project) AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug AND d.exec_state IN ('pending', 'in_flight')) ORDER BY started_at, project, slug LIMIT :most",
    "SELECT project, slug, title, stage, assignee, started_at, changed_at, pull_request FROM tasks WHERE status = 'in_progress' AND job IS NULL AND stage = 'finisher' AND (CAST(%(project)s AS TEXT) IS NULL OR project = %(project)s) AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug AND d.exec_state IN ('pending', 'in_flight')) ORDER BY started_at, project, slug LIMIT %(most)s",
    TaskOnHand,
)


def tasks_to_merge(rows: Rows, /, *, project: str | None, most: int) -> list[TaskOnHand]:
    """Tasks in progress that only have to be merged and on which no agent works, oldest first."""
    return rows.select_all(TASKS_TO_MERGE, TaskOnHand, {'project': project, 'most': most})


SLUGS_IN_PROGRESS = Query(
    'slugs_in_progress',
    "SELECT slug FROM tasks WHERE project = :project AND status = 'in_progress' AND job IS NULL",
    "SELECT slug FROM tasks WHERE project = %(project)s AND status = 'in_progress' AND job IS NULL",
    TaskSlug,
)


def slugs_in_progress(rows: Rows, /, *, project: str) -> list[TaskSlug]:
    """The slugs of a project's tasks that are in progress."""
    return rows.select_all(SLUGS_IN_PROGRESS, TaskSlug, {'project': project})


TITLES_OF_ATTEMPTS = Query(
    'titles_of_attempts',
    "SELECT t.project, t.slug, t.title FROM dispatches d CROSS JOIN tasks t WHERE d.exec_state IN ('pending', 'in_flight') AND t.project = d.project AND t.slug = d.slug",
    "SELECT t.project, t.slug, t.title FROM dispatches d CROSS JOIN tasks t WHERE d.exec_state IN ('pending', 'in_flight') AND t.project = d.project AND t.slug = d.slug",
    AttemptTitle,
)


def titles_of_attempts(rows: Rows, /) -> list[AttemptTitle]:
    """The titles of the tasks that have an unfinished dispatch."""
    return rows.select_all(TITLES_OF_ATTEMPTS, AttemptTitle, {})


UNMERGED_TASKS = Query(
    'unmerged_tasks',
    "SELECT t.project, t.slug, t.title, t.pull_request, t.changed_at FROM bundles b CROSS JOIN tasks t WHERE t.project = b.project AND t.slug = b.slug AND t.status = 'done' AND t.merged IS NULL AND t.archived = 0 AND t.job IS NULL AND (CAST(:project AS TEXT) IS NULL OR b.project = :project) ORDER BY t.changed_at, t.project, t.slug LIMIT :most",
    "SELECT t.project, t.slug, t.title, t.pull_request, t.changed_at FROM bundles b CROSS JOIN tasks t WHERE t.project = b.project AND t.slug = b.slug AND t.status = 'done' AND t.merged IS NULL AND t.archived = 0 AND t.job IS NULL AND (CAST(%(project)s AS TEXT) IS NULL OR b.project = %(project)s) ORDER BY t.changed_at, t.project, t.slug LIMIT %(most)s",
    UnmergedTask,
)


def unmerged_tasks(rows: Rows, /, *, project: str | None, most: int) -> list[UnmergedTask]:
    """Tasks that a person reported done and whose work, by an agent, is not merged."""
    return rows.select_all(UNMERGED_TASKS, UnmergedTask, {'project': project, 'most': most})


PROJECTS_TO_MERGE = Query(
    'projects_to_merge',
    "SELECT p.name FROM projects p WHERE EXISTS (SELECT 1 FROM tasks WHERE tasks.status = 'in_progress' AND tasks.job IS NULL AND tasks.stage = 'finisher' AND tasks.project = p.name AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug AND d.exec_state IN ('pending', 'in_flight'))) OR EXISTS (SELECT 1 FROM bundles b CROSS JOIN tasks t WHERE b.project = p.name AND t.project = b.project AND t.slug = b.slug AND t.status = 'done' AND t.merged IS NULL AND t.archived = 0 AND t.job IS NULL)",
    "SELECT p.name FROM projects p WHERE EXISTS (SELECT 1 FROM tasks WHERE tasks.status = 'in_progress' AND tasks.job IS NULL AND tasks.stage = 'finisher' AND tasks.project = p.name AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug AND d.exec_state IN ('pending', 'in_flight'))) OR EXISTS (SELECT 1 FROM bundles b CROSS JOIN tasks t WHERE b.project = p.name AND t.project = b.project AND t.slug = b.slug AND t.status = 'done' AND t.merged IS NULL AND t.archived = 0 AND t.job IS NULL)",
    ProjectName,
)


def projects_to_merge(rows: Rows, /) -> list[ProjectName]:
    """The projects that have a task in `tasks_to_merge` or in `unmerged_tasks`."""
    return rows.select_all(PROJECTS_TO_MERGE, ProjectName, {})


PAGE_COUNTS = Query(
    'page_counts',
    "SELECT (SELECT COUNT(*) FROM tasks WHERE stage = 'review' AND status IN ('in_progress', 'blocked', 'open') AND archived = 0 AND job IS NULL AND (CAST(:project AS TEXT) IS NULL OR project = :project) AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug AND d.exec_state IN ('pending', 'in_flight'))) AS review, (SELECT COUNT(*) FROM tasks WHERE status = 'failed' AND archived = 0 AND job IS NULL AND (CAST(:project AS TEXT) IS NULL OR project = :project)) AS failed, (SELECT COUNT(*) FROM tasks WHERE status = 'blocked' AND job IS NULL AND stage <> 'review' AND (CAST(:project AS TEXT) IS NULL OR project = :project) AND NOT EXISTS (SELECT 1 FROM handoffs h WHERE h.project = tasks.project AND h.slug = tasks.slug AND h.dispatch = tasks.assignee AND h.parked_at IS NOT NULL)) AS blocked, (SELECT COUNT(*) FROM tasks WHERE status = 'open' AND job IS NULL AND not_before > :now AND (CAST(:project AS TEXT) IS NULL OR project = :project)) AS early, (SELECT COUNT(*) FROM tasks WHERE status = 'in_progress' AND job IS NULL AND stage NOT IN ('review', 'finisher') AND (CAST(:project AS TEXT) IS NULL OR project = :project) AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug AND d.exec_state IN ('pending', 'in_flight'))) AS claimed, (SELECT COUNT(*) FROM tasks WHERE status = 'in_progress' AND job IS NULL AND stage = 'finisher' AND (CAST(:project AS TEXT) IS NULL OR project = :project) AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug AND d.exec_state IN ('pending', 'in_flight'))) AS to_merge, (SELECT COUNT(*) FROM bundles b CROSS JOIN tasks t WHERE t.project = b.project AND t.slug = b.slug AND t.status = 'done' AND t.merged IS NULL AND t.archived = 0 AND t.job IS NULL AND (CAST(:project AS TEXT) IS NULL OR b.project = :project)) AS unmerged",
    "SELECT (SELECT COUNT(*) FROM tasks WHERE stage = 'review' AND status IN ('in_progress', 'blocked', 'open') AND archived = 0 AND job IS NULL AND (CAST(%(project)s AS TEXT) IS NULL OR project = %(project)s) AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug AND d.exec_state IN ('pending', 'in_flight'))) AS review, (SELECT COUNT(*) FROM tasks WHERE status = 'failed' AND archived = 0 AND job IS NULL AND (CAST(%(project)s AS TEXT) IS NULL OR project = %(project)s)) AS failed, (SELECT COUNT(*) FROM tasks WHERE status = 'blocked' AND job IS NULL AND stage <> 'review' AND (CAST(%(project)s AS TEXT) IS NULL OR project = %(project)s) AND NOT EXISTS (SELECT 1 FROM handoffs h WHERE h.project = tasks.project AND h.slug = tasks.slug AND h.dispatch = tasks.assignee AND h.parked_at IS NOT NULL)) AS blocked, (SELECT COUNT(*) FROM tasks WHERE status = 'open' AND job IS NULL AND not_before > %(now)s AND (CAST(%(project)s AS TEXT) IS NULL OR project = %(project)s)) AS early, (SELECT COUNT(*) FROM tasks WHERE status = 'in_progress' AND job IS NULL AND stage NOT IN ('review', 'finisher') AND (CAST(%(project)s AS TEXT) IS NULL OR project = %(project)s) AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug AND d.exec_state IN ('pending', 'in_flight'))) AS claimed, (SELECT COUNT(*) FROM tasks WHERE status = 'in_progress' AND job IS NULL AND stage = 'finisher' AND (CAST(%(project)s AS TEXT) IS NULL OR project = %(project)s) AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug AND d.exec_state IN ('pending', 'in_flight'))) AS to_merge, (SELECT COUNT(*) FROM bundles b CROSS JOIN tasks t WHERE t.project = b.project AND t.slug = b.slug AND t.status = 'done' AND t.merged IS NULL AND t.archived = 0 AND t.job IS NULL AND (CAST(%(project)s AS TEXT) IS NULL OR b.project = %(project)s)) AS unmerged",
    PageCount,
)


def page_counts(rows: Rows, /, *, project: str | None, now: int) -> PageCount:
    """How many entries the lists of the status page would have without a limit."""
    return rows.select_exactly_one(PAGE_COUNTS, PageCount, {'project': project, 'now': now})


ALL_HOLDS = Query(
    'all_holds',
    'SELECT engine, kind, reason, since, until FROM holds ORDER BY engine',
    'SELECT engine, kind, reason, since, until FROM holds ORDER BY engine',
    EngineHold,
)


def all_holds(rows: Rows, /) -> list[EngineHold]:
    """The engines that are held, for the status page."""
    return rows.select_all(ALL_HOLDS, EngineHold, {})


CLAIMS_ELSEWHERE = Query(
    'claims_elsewhere',
    "SELECT c.host, c.home, COALESCE(d.tmux_socket, '') AS tmux_socket, h.path, h.name, COUNT(*) AS n FROM claims c LEFT JOIN dispatches d ON d.id = c.dispatch LEFT JOIN homes h ON h.id = c.home WHERE c.state <> 'released' AND (c.host <> :host OR (c.home IS NOT NULL AND c.home <> :home) OR (c.home IS NULL AND d.tmux_socket IS NOT NULL AND d.tmux_socket <> :socket)) GROUP BY c.host, c.home, d.tmux_socket, h.path, h.name ORDER BY c.host, c.home, d.tmux_socket",
    "SELECT c.host, c.home, COALESCE(d.tmux_socket, '') AS tmux_socket, h.path, h.name, COUNT(*) AS n FROM claims c LEFT JOIN dispatches d ON d.id = c.dispatch LEFT JOIN homes h ON h.id = c.home WHERE c.state <> 'released' AND (c.host <> %(host)s OR (c.home IS NOT NULL AND c.home <> %(home)s) OR (c.home IS NULL AND d.tmux_socket IS NOT NULL AND d.tmux_socket <> %(socket)s)) GROUP BY c.host, c.home, d.tmux_socket, h.path, h.name ORDER BY c.host, c.home, d.tmux_socket",
    ClaimsElsewhere,
)


def claims_elsewhere(rows: Rows, /, *, host: str, home: str, socket: str) -> list[ClaimsElsewhere]:
    """Claims that this home cannot release: of another home, of another host, or (recorded before homes had ids) of another tmux socket."""
    return rows.select_all(CLAIMS_ELSEWHERE, ClaimsElsewhere, {'host': host, 'home': home, 'socket': socket})


STEP_FACTS = Query(
    'step_facts',
    "WITH RECURSIVE numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < :count) SELECT t.project, t.slug, t.status, t.stage, t.paused, t.archived, t.not_before, t.open_blockers, t.fixes, t.assignee, t.work, t.merged, t.job, t.pull_request, EXISTS (SELECT 1 FROM dispatches a WHERE a.project = t.project AND a.slug = t.slug AND a.exec_state IN ('pending', 'in_flight')) AS attempted, EXISTS (SELECT 1 FROM bundles b WHERE b.project = t.project AND b.slug = t.slug) AS bundled, EXISTS (SELECT 1 FROM ids i WHERE i.id = t.assignee) AS is_agents, EXISTS (SELECT 1 FROM handoffs h WHERE h.dispatch = t.assignee AND h.state = 'queued') AS is_handed, EXISTS (SELECT 1 FROM handoffs h WHERE h.dispatch = t.assignee AND h.parked_at IS NOT NULL) AS is_parked, (SELECT u.id FROM questions u WHERE u.dispatch = t.assignee AND u.closed_at IS NULL AND u.answered_at IS NULL ORDER BY u.asked_at, u.id LIMIT 1) AS question, d.kind AS left_kind, d.exec_state, d.report, d.asked_for, d.blocked_reason, d.launched_at, d.resumes, d.home, d.host, d.tmux_socket FROM numbers CROSS JOIN tasks t LEFT JOIN dispatches d ON d.id = t.assignee AND d.project = t.project AND d.slug = t.slug AND t.status IN ('blocked', 'failed') AND t.archived = 0 AND t.paused = 0 AND t.job IS NULL AND d.exec_state IN ('blocked', 'failed') AND d.kind <> 'finisher' WHERE t.project = RTRIM(SUBSTR(CAST(:projects AS TEXT), CAST(n * :width + 1 AS INTEGER), CAST(:width AS INTEGER))) AND t.slug = RTRIM(SUBSTR(CAST(:slugs AS TEXT), CAST(n * :width + 1 AS INTEGER), CAST(:width AS INTEGER)))",
    "WITH RECURSIVE numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < %(count)s) SELECT t.project, t.slug, t.status, t.stage, t.paused, t.archived, t.not_before, t.open_blockers, t.fixes, t.assignee, t.work, t.merged, t.job, t.pull_request, EXISTS (SELECT 1 FROM dispatches a WHERE a.project = t.project AND a.slug = t.slug AND a.exec_state IN ('pending', 'in_flight')) AS attempted, EXISTS (SELECT 1 FROM bundles b WHERE b.project = t.project AND b.slug = t.slug) AS bundled, EXISTS (SELECT 1 FROM ids i WHERE i.id = t.assignee) AS is_agents, EXISTS (SELECT 1 FROM handoffs h WHERE h.dispatch = t.assignee AND h.state = 'queued') AS is_handed, EXISTS (SELECT 1 FROM handoffs h WHERE h.dispatch = t.assignee AND h.parked_at IS NOT NULL) AS is_parked, (SELECT u.id FROM questions u WHERE u.dispatch = t.assignee AND u.closed_at IS NULL AND u.answered_at IS NULL ORDER BY u.asked_at, u.id LIMIT 1) AS question, d.kind AS left_kind, d.exec_state, d.report, d.asked_for, d.blocked_reason, d.launched_at, d.resumes, d.home, d.host, d.tmux_socket FROM numbers CROSS JOIN tasks t LEFT JOIN dispatches d ON d.id = t.assignee AND d.project = t.project AND d.slug = t.slug AND t.status IN ('blocked', 'failed') AND t.archived = 0 AND t.paused = 0 AND t.job IS NULL AND d.exec_state IN ('blocked', 'failed') AND d.kind <> 'finisher' WHERE t.project = RTRIM(SUBSTR(CAST(%(projects)s AS TEXT), CAST(n * %(width)s + 1 AS INTEGER), CAST(%(width)s AS INTEGER))) AND t.slug = RTRIM(SUBSTR(CAST(%(slugs)s AS TEXT), CAST(n * %(width)s + 1 AS INTEGER), CAST(%(width)s AS INTEGER)))",
    StepFacts,
)


def step_facts(rows: Rows, /, *, count: int, projects: str | None, width: int, slugs: str | None) -> list[StepFacts]:
    """The facts that decide the next step of each of these tasks, with the ended dispatch that could be resumed. `projects` and `slugs` are lists of names, each name padded with spaces to `width`."""
    return rows.select_all(STEP_FACTS, StepFacts, {'count': count, 'projects': projects, 'width': width, 'slugs': slugs})


SHOWN_TASKS = Query(
    'shown_tasks',
    'SELECT t.project, t.slug, t.title, t.status, t.stage, t.paused, t.not_before, t.open_blockers, t.assignee, t.reason, t.changed_at, t.merged, b.owner AS bundle FROM tasks t LEFT JOIN bundles b ON b.project = t.project AND b.slug = t.slug WHERE (t.archived = 0 OR t.merged_at > :since) AND t.job IS NULL ORDER BY t.project, t.priority DESC, t.changed_at DESC, t.slug',
    'SELECT t.project, t.slug, t.title, t.status, t.stage, t.paused, t.not_before, t.open_blockers, t.assignee, t.reason, t.changed_at, t.merged, b.owner AS bundle FROM tasks t LEFT JOIN bundles b ON b.project = t.project AND b.slug = t.slug WHERE (t.archived = 0 OR t.merged_at > %(since)s) AND t.job IS NULL ORDER BY t.project, t.priority DESC, t.changed_at DESC, t.slug',
    ShownTask,
)


def shown_tasks(rows: Rows, /, *, since: int) -> list[ShownTask]:
    """All tasks that are not archived or were merged since a time, for the screen: by project, the most urgent first."""
    return rows.select_all(SHOWN_TASKS, ShownTask, {'since': since})


KEPT_THINGS = Query(
    'kept_things',
    "SELECT c.kind, c.name, c.state, c.dispatch, COALESCE(d.project, c.project) AS project, COALESCE(d.slug, c.slug) AS slug, c.updated_at, b.owner AS bundle FROM claims c LEFT JOIN dispatches d ON d.id = c.dispatch LEFT JOIN tasks t ON c.dispatch IS NULL AND t.project = c.project AND t.slug = c.slug LEFT JOIN bundles b ON b.project = t.project AND b.slug = t.slug WHERE c.state <> 'released' AND (d.recl_state IN ('partial', 'blocked') OR t.archived = 1) AND c.kind <> 'worker_dir' ORDER BY c.kind, c.name",
    "SELECT c.kind, c.name, c.state, c.dispatch, COALESCE(d.project, c.project) AS project, COALESCE(d.slug, c.slug) AS slug, c.updated_at, b.owner AS bundle FROM claims c LEFT JOIN dispatches d ON d.id = c.dispatch LEFT JOIN tasks t ON c.dispatch IS NULL AND t.project = c.project AND t.slug = c.slug LEFT JOIN bundles b ON b.project = t.project AND b.slug = t.slug WHERE c.state <> 'released' AND (d.recl_state IN ('partial', 'blocked') OR t.archived = 1) AND c.kind <> 'worker_dir' ORDER BY c.kind, c.name",
    KeptThing,
)


def kept_things(rows: Rows, /) -> list[KeptThing]:
    """Unreleased claims that nobody needs any more, each with its name; worker directories are left out. `bundle` is the dispatch that had the bundle last, for a claim of a bundle."""
    return rows.select_all(KEPT_THINGS, KeptThing, {})


LAUNCHES_AND_ENDS = Query(
    'launches_and_ends',
    "SELECT at, why, project, slug, dispatch, what FROM operations WHERE at >= :since AND (why LIKE 'launch %' OR why LIKE 'settle %' OR why LIKE 'dispatch % as a duty of the daemon') ORDER BY seq",
    "SELECT at, why, project, slug, dispatch, what FROM operations WHERE at >= %(since)s AND (why LIKE 'launch %%' OR why LIKE 'settle %%' OR why LIKE 'dispatch %% as a duty of the daemon') ORDER BY seq",
    LaunchOrEnd,
)


def launches_and_ends(rows: Rows, /, *, since: int) -> list[LaunchOrEnd]:
    """The operations that launched and settled dispatches since a time, oldest first. For a coordinator that the daemon runs, the operation that dispatched it counts as its launch."""
    return rows.select_all(LAUNCHES_AND_ENDS, LaunchOrEnd, {'since': since})
