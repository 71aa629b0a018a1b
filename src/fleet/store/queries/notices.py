"""The queries of sql/notices.sql, compiled by `make sql`. Do not edit."""

from __future__ import annotations

from fleet.store.queries.shared import Count
from fleet.store.row import Query, Row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.states import NoticeKind, NoticeState
    from fleet.store.transaction import Rows, Tx


class Notice(Row):
    __slots__ = (
        'id',
        'subject',
        'kind',
        'state',
        'home',
        'project',
        'slug',
        'dispatch',
        'question',
        'title',
        'body',
        'since',
        'seen_at',
        'over_at',
        'message',
        'sender',
        'attempts',
        'next_at',
        'told_at',
        'channels',
        'trouble',
    )

    def __init__(
        self,
        id: str,
        subject: str,
        kind: NoticeKind,
        state: NoticeState,
        home: str,
        project: str,
        slug: str | None,
        dispatch: str | None,
        question: str | None,
        title: str,
        body: str,
        since: int,
        seen_at: int,
        over_at: int | None,
        message: str | None,
        sender: str | None,
        attempts: int,
        next_at: int,
        told_at: int | None,
        channels: str,
        trouble: str,
    ) -> None:
        self.id = id
        self.subject = subject
        self.kind = kind
        self.state = state
        self.home = home
        self.project = project
        self.slug = slug
        self.dispatch = dispatch
        self.question = question
        self.title = title
        self.body = body
        self.since = since
        self.seen_at = seen_at
        self.over_at = over_at
        self.message = message
        self.sender = sender
        self.attempts = attempts
        self.next_at = next_at
        self.told_at = told_at
        self.channels = channels
        self.trouble = trouble


class SentMessage(Row):
    __slots__ = (
        'message',
        'n',
    )

    def __init__(
        self,
        message: str,
        n: int,
    ) -> None:
        self.message = message
        self.n = n


class DispatchIdent(Row):
    __slots__ = (
        'id',
    )

    def __init__(
        self,
        id: str,
    ) -> None:
        self.id = id


class FailedTaskNews(Row):
    __slots__ = (
        'project',
        'slug',
        'title',
        'reason',
        'assignee',
        'ended_at',
    )

    def __init__(
        self,
        project: str,
        slug: str,
        title: str,
        reason: str | None,
        assignee: str | None,
        ended_at: int,
    ) -> None:
        self.project = project
        self.slug = slug
        self.title = title
        self.reason = reason
        self.assignee = assignee
        self.ended_at = ended_at


class FailedJob(Row):
    __slots__ = (
        'id',
        'project',
        'name',
        'reason',
        'ended_at',
    )

    def __init__(
        self,
        id: str,
        project: str,
        name: str,
        reason: str | None,
        ended_at: int,
    ) -> None:
        self.id = id
        self.project = project
        self.name = name
        self.reason = reason
        self.ended_at = ended_at


STANDING_NOTICES = Query(
    'standing_notices',
    'SELECT * FROM notices WHERE over_at IS NULL',
    'SELECT * FROM notices WHERE over_at IS NULL',
    Notice,
)


def standing_notices(rows: Rows, /) -> list[Notice]:
    """Notices whose condition still holds."""
    return rows.select_all(STANDING_NOTICES, Notice, {})


ADD_NOTICE = Query(
    'add_notice',
    'INSERT INTO notices (id, subject, kind, state, home, project, slug, dispatch, question, title, body, since, seen_at) SELECT CAST(:id AS TEXT), CAST(:subject AS TEXT), CAST(:kind AS TEXT), CAST(:state AS TEXT), CAST(:home AS TEXT), CAST(:project AS TEXT), CAST(:slug AS TEXT), CAST(:dispatch AS TEXT), CAST(:question AS TEXT), CAST(:title AS TEXT), CAST(:body AS TEXT), CAST(:since AS BIGINT), CAST(:at AS BIGINT) WHERE NOT EXISTS (SELECT 1 FROM notices n WHERE n.subject = :subject AND (n.over_at IS NULL OR :is_unique = 1)) ON CONFLICT DO NOTHING',
    'INSERT INTO notices (id, subject, kind, state, home, project, slug, dispatch, question, title, body, since, seen_at) SELECT CAST(%(id)s AS TEXT), CAST(%(subject)s AS TEXT), CAST(%(kind)s AS TEXT), CAST(%(state)s AS TEXT), CAST(%(home)s AS TEXT), CAST(%(project)s AS TEXT), CAST(%(slug)s AS TEXT), CAST(%(dispatch)s AS TEXT), CAST(%(question)s AS TEXT), CAST(%(title)s AS TEXT), CAST(%(body)s AS TEXT), CAST(%(since)s AS BIGINT), CAST(%(at)s AS BIGINT) WHERE NOT EXISTS (SELECT 1 FROM notices n WHERE n.subject = %(subject)s AND (n.over_at IS NULL OR %(is_unique)s = 1)) ON CONFLICT DO NOTHING',
    None,
)


def add_notice(tx: Tx, /, *, id: str | None, subject: str | None, kind: str | None, state: str | None, home: str | None, project: str | None, slug: str | None, dispatch: str | None, question: str | None, title: str | None, body: str | None, since: int | None, at: int | None, is_unique: int) -> int:
    """Add a notice for a condition that has begun, unless that condition has a notice already: one that has not ended, or, if `is_unique`, any."""
    return tx.write(ADD_NOTICE, {'id': id, 'subject': subject, 'kind': kind, 'state': state, 'home': home, 'project': project, 'slug': slug, 'dispatch': dispatch, 'question': question, 'title': title, 'body': body, 'since': since, 'at': at, 'is_unique': is_unique})


END_NOTICE = Query(
    'end_notice',
    'UPDATE notices SET over_at = :at WHERE id = :id AND over_at IS NULL',
    'UPDATE notices SET over_at = %(at)s WHERE id = %(id)s AND over_at IS NULL',
    None,
)


def end_notice(tx: Tx, /, *, at: int | None, id: str) -> int:
    """Record that the condition of a notice has ended."""
    return tx.write(END_NOTICE, {'at': at, 'id': id})


STEP_ENDED_NOTICE = Query(
    'step_ended_notice',
    'UPDATE notices SET state = :after WHERE id = :id AND state = :before AND over_at IS NOT NULL',
    'UPDATE notices SET state = %(after)s WHERE id = %(id)s AND state = %(before)s AND over_at IS NOT NULL',
    None,
)


def step_ended_notice(tx: Tx, /, *, after: NoticeState, id: str, before: NoticeState) -> int:
    """Compare and set: change the state of a notice whose condition has ended."""
    return tx.write(STEP_ENDED_NOTICE, {'after': after, 'id': id, 'before': before})


DUE_NOTICES = Query(
    'due_notices',
    "SELECT * FROM notices WHERE state = 'due' AND (next_at <= :now OR next_at > :latest) ORDER BY since, id LIMIT :most",
    "SELECT * FROM notices WHERE state = 'due' AND (next_at <= %(now)s OR next_at > %(latest)s) ORDER BY since, id LIMIT %(most)s",
    Notice,
)


def due_notices(rows: Rows, /, *, now: int, latest: int, most: int) -> list[Notice]:
    """Notices to send now, oldest first. A `next_at` after `latest` was set while the clock was ahead, and counts as reached."""
    return rows.select_all(DUE_NOTICES, Notice, {'now': now, 'latest': latest, 'most': most})


NOTICES_OF_LOST_SENDERS = Query(
    'notices_of_lost_senders',
    "SELECT * FROM notices WHERE state = 'sending' AND sender = :sender",
    "SELECT * FROM notices WHERE state = 'sending' AND sender = %(sender)s",
    Notice,
)


def notices_of_lost_senders(rows: Rows, /, *, sender: str) -> list[Notice]:
    """Notices that are marked as being sent by a home. The caller knows that no process of that home is sending now."""
    return rows.select_all(NOTICES_OF_LOST_SENDERS, Notice, {'sender': sender})


TAKE_NOTICE = Query(
    'take_notice',
    'UPDATE notices SET state = :after, message = :message, sender = :sender, attempts = attempts + 1 WHERE id = :id AND state = :before',
    'UPDATE notices SET state = %(after)s, message = %(message)s, sender = %(sender)s, attempts = attempts + 1 WHERE id = %(id)s AND state = %(before)s',
    None,
)


def take_notice(tx: Tx, /, *, after: NoticeState, message: str | None, sender: str | None, id: str, before: NoticeState) -> int:
    """Compare and set: take a notice for sending, so that one process sends it."""
    return tx.write(TAKE_NOTICE, {'after': after, 'message': message, 'sender': sender, 'id': id, 'before': before})


RECORD_SENDING = Query(
    'record_sending',
    'UPDATE notices SET state = :after, sender = NULL, told_at = :told_at, channels = :channels, trouble = :trouble, next_at = :next_at WHERE id = :id AND state = :before AND message = :message',
    'UPDATE notices SET state = %(after)s, sender = NULL, told_at = %(told_at)s, channels = %(channels)s, trouble = %(trouble)s, next_at = %(next_at)s WHERE id = %(id)s AND state = %(before)s AND message = %(message)s',
    None,
)


def record_sending(tx: Tx, /, *, after: NoticeState, told_at: int | None, channels: str, trouble: str, next_at: int, id: str, before: NoticeState, message: str) -> int:
    """Compare and set: record the result of sending the message of a notice."""
    return tx.write(RECORD_SENDING, {'after': after, 'told_at': told_at, 'channels': channels, 'trouble': trouble, 'next_at': next_at, 'id': id, 'before': before, 'message': message})


MESSAGES_SINCE = Query(
    'messages_since',
    'SELECT message, COUNT(*) AS n FROM notices WHERE told_at > :since AND told_at <= :now AND message IS NOT NULL GROUP BY message',
    'SELECT message, COUNT(*) AS n FROM notices WHERE told_at > %(since)s AND told_at <= %(now)s AND message IS NOT NULL GROUP BY message',
    SentMessage,
)


def messages_since(rows: Rows, /, *, since: int, now: int) -> list[SentMessage]:
    """The messages that were sent between two times, and how many notices each of them contained."""
    return rows.select_all(MESSAGES_SINCE, SentMessage, {'since': since, 'now': now})


NEWEST_NOTICES = Query(
    'newest_notices',
    'SELECT * FROM notices ORDER BY seen_at DESC, id LIMIT :most',
    'SELECT * FROM notices ORDER BY seen_at DESC, id LIMIT %(most)s',
    Notice,
)


def newest_notices(rows: Rows, /, *, most: int) -> list[Notice]:
    """Notices, newest first."""
    return rows.select_all(NEWEST_NOTICES, Notice, {'most': most})


FORGET_NOTICES = Query(
    'forget_notices',
    "DELETE FROM notices WHERE over_at IS NOT NULL AND state NOT IN ('due', 'sending') AND id NOT IN (SELECT n.id FROM notices n ORDER BY n.seen_at DESC, n.id LIMIT :most)",
    "DELETE FROM notices WHERE over_at IS NOT NULL AND state NOT IN ('due', 'sending') AND id NOT IN (SELECT n.id FROM notices n ORDER BY n.seen_at DESC, n.id LIMIT %(most)s)",
    None,
)


def forget_notices(tx: Tx, /, *, most: int) -> int:
    """Delete notices of ended conditions, except those that are still to be sent and the newest ones."""
    return tx.write(FORGET_NOTICES, {'most': most})


DISPATCHES_OF_OTHER_HOMES = Query(
    'dispatches_of_other_homes',
    "SELECT id FROM dispatches WHERE exec_state IN ('pending', 'in_flight') AND home IS NOT NULL AND home <> :home",
    "SELECT id FROM dispatches WHERE exec_state IN ('pending', 'in_flight') AND home IS NOT NULL AND home <> %(home)s",
    DispatchIdent,
)


def dispatches_of_other_homes(rows: Rows, /, *, home: str) -> list[DispatchIdent]:
    """Unfinished dispatches of other homes that share this store."""
    return rows.select_all(DISPATCHES_OF_OTHER_HOMES, DispatchIdent, {'home': home})


COUNT_NOTICES = Query(
    'count_notices',
    'SELECT COUNT(*) AS n FROM notices',
    'SELECT COUNT(*) AS n FROM notices',
    Count,
)


def count_notices(rows: Rows, /) -> Count:
    """How many notices there are."""
    return rows.select_exactly_one(COUNT_NOTICES, Count, {})


FAILED_TASK_NEWS = Query(
    'failed_task_news',
    "SELECT project, slug, title, reason, assignee, ended_at FROM tasks WHERE status = 'failed' AND archived = 0 AND job IS NULL AND ended_at > :since",
    "SELECT project, slug, title, reason, assignee, ended_at FROM tasks WHERE status = 'failed' AND archived = 0 AND job IS NULL AND ended_at > %(since)s",
    FailedTaskNews,
)


def failed_task_news(rows: Rows, /, *, since: int) -> list[FailedTaskNews]:
    """Tasks that failed after a time."""
    return rows.select_all(FAILED_TASK_NEWS, FailedTaskNews, {'since': since})


FAILED_JOBS = Query(
    'failed_jobs',
    "SELECT id, project, name, reason, ended_at FROM jobs WHERE state = 'failed' AND ended_at > :since",
    "SELECT id, project, name, reason, ended_at FROM jobs WHERE state = 'failed' AND ended_at > %(since)s",
    FailedJob,
)


def failed_jobs(rows: Rows, /, *, since: int) -> list[FailedJob]:
    """Jobs that failed after a time."""
    return rows.select_all(FAILED_JOBS, FailedJob, {'since': since})
