"""The queries of sql/messages.sql, compiled by `make sql`. Do not edit."""

from __future__ import annotations

from fleet.store.queries.shared import Count
from fleet.store.row import Query, Row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.states import MessageKind
    from fleet.store.transaction import Rows, Tx


class WaitingMessage(Row):
    __slots__ = (
        'id',
        'dispatch',
        'kind',
        'sender',
        'text',
        'sent_at',
        'delivered_at',
        'how',
    )

    def __init__(
        self,
        id: str,
        dispatch: str,
        kind: MessageKind,
        sender: str,
        text: str,
        sent_at: int,
        delivered_at: int | None,
        how: str | None,
    ) -> None:
        self.id = id
        self.dispatch = dispatch
        self.kind = kind
        self.sender = sender
        self.text = text
        self.sent_at = sent_at
        self.delivered_at = delivered_at
        self.how = how


class LastSaid(Row):
    __slots__ = (
        'at',
    )

    def __init__(
        self,
        at: int | None,
    ) -> None:
        self.at = at


class ListedMessage(Row):
    __slots__ = (
        'id',
        'dispatch',
        'kind',
        'sender',
        'text',
        'sent_at',
        'delivered_at',
        'acknowledged_at',
    )

    def __init__(
        self,
        id: str,
        dispatch: str,
        kind: MessageKind,
        sender: str,
        text: str,
        sent_at: int,
        delivered_at: int | None,
        acknowledged_at: int | None,
    ) -> None:
        self.id = id
        self.dispatch = dispatch
        self.kind = kind
        self.sender = sender
        self.text = text
        self.sent_at = sent_at
        self.delivered_at = delivered_at
        self.acknowledged_at = acknowledged_at


class Message(Row):
    __slots__ = (
        'id',
        'dispatch',
        'kind',
        'sender',
        'text',
        'sent_at',
        'delivered_at',
        'how',
        'acknowledged_at',
    )

    def __init__(
        self,
        id: str,
        dispatch: str,
        kind: MessageKind,
        sender: str,
        text: str,
        sent_at: int,
        delivered_at: int | None,
        how: str | None,
        acknowledged_at: int | None,
    ) -> None:
        self.id = id
        self.dispatch = dispatch
        self.kind = kind
        self.sender = sender
        self.text = text
        self.sent_at = sent_at
        self.delivered_at = delivered_at
        self.how = how
        self.acknowledged_at = acknowledged_at


ADD_MESSAGE = Query(
    'add_message',
    'INSERT INTO messages (id, dispatch, kind, sender, text, sent_at) VALUES (:id, :dispatch, :kind, :sender, :text, :at) ON CONFLICT DO NOTHING',
    'INSERT INTO messages (id, dispatch, kind, sender, text, sent_at) VALUES (%(id)s, %(dispatch)s, %(kind)s, %(sender)s, %(text)s, %(at)s) ON CONFLICT DO NOTHING',
    None,
)


def add_message(tx: Tx, /, *, id: str, dispatch: str, kind: MessageKind, sender: str, text: str, at: int) -> int:
    """Queue a message to an agent."""
    return tx.write(ADD_MESSAGE, {'id': id, 'dispatch': dispatch, 'kind': kind, 'sender': sender, 'text': text, 'at': at})


WAITING_MESSAGES = Query(
    'waiting_messages',
    'SELECT id, dispatch, kind, sender, text, sent_at, delivered_at, how FROM messages WHERE dispatch = :dispatch AND acknowledged_at IS NULL ORDER BY sent_at, id',
    'SELECT id, dispatch, kind, sender, text, sent_at, delivered_at, how FROM messages WHERE dispatch = %(dispatch)s AND acknowledged_at IS NULL ORDER BY sent_at, id',
    WaitingMessage,
)


def waiting_messages(rows: Rows, /, *, dispatch: str) -> list[WaitingMessage]:
    """Messages that an agent has not acknowledged, oldest first."""
    return rows.select_all(WAITING_MESSAGES, WaitingMessage, {'dispatch': dispatch})


DELIVER_MESSAGE = Query(
    'deliver_message',
    'UPDATE messages SET delivered_at = COALESCE(delivered_at, :at), how = COALESCE(how, :how) WHERE id = :id AND dispatch = :dispatch',
    'UPDATE messages SET delivered_at = COALESCE(delivered_at, %(at)s), how = COALESCE(how, %(how)s) WHERE id = %(id)s AND dispatch = %(dispatch)s',
    None,
)


def deliver_message(tx: Tx, /, *, at: int, how: str, id: str, dispatch: str) -> int:
    """Record that a message was handed to its agent, and how; the first delivery is kept."""
    return tx.write(DELIVER_MESSAGE, {'at': at, 'how': how, 'id': id, 'dispatch': dispatch})


ACKNOWLEDGE_MESSAGE = Query(
    'acknowledge_message',
    'UPDATE messages SET acknowledged_at = :at, delivered_at = COALESCE(delivered_at, :at) WHERE id = :id AND dispatch = :dispatch AND acknowledged_at IS NULL',
    'UPDATE messages SET acknowledged_at = %(at)s, delivered_at = COALESCE(delivered_at, %(at)s) WHERE id = %(id)s AND dispatch = %(dispatch)s AND acknowledged_at IS NULL',
    None,
)


def acknowledge_message(tx: Tx, /, *, at: int, id: str, dispatch: str) -> int:
    """Compare and set: record that an agent has acknowledged a message, once."""
    return tx.write(ACKNOWLEDGE_MESSAGE, {'at': at, 'id': id, 'dispatch': dispatch})


INHERIT_MESSAGES = Query(
    'inherit_messages',
    "UPDATE messages SET dispatch = :dispatch, delivered_at = NULL, how = NULL WHERE dispatch = :predecessor AND acknowledged_at IS NULL AND kind = 'message'",
    "UPDATE messages SET dispatch = %(dispatch)s, delivered_at = NULL, how = NULL WHERE dispatch = %(predecessor)s AND acknowledged_at IS NULL AND kind = 'message'",
    None,
)


def inherit_messages(tx: Tx, /, *, dispatch: str, predecessor: str) -> int:
    """Move the unacknowledged messages of an agent to its successor, which gets them anew; reminders are not moved."""
    return tx.write(INHERIT_MESSAGES, {'dispatch': dispatch, 'predecessor': predecessor})


LAST_SAID = Query(
    'last_said',
    'SELECT MAX(delivered_at) AS at FROM messages WHERE dispatch = :dispatch',
    'SELECT MAX(delivered_at) AS at FROM messages WHERE dispatch = %(dispatch)s',
    LastSaid,
)


def last_said(rows: Rows, /, *, dispatch: str) -> LastSaid:
    """When a message was last delivered to an agent; NULL when none was."""
    return rows.select_exactly_one(LAST_SAID, LastSaid, {'dispatch': dispatch})


ALL_MESSAGES = Query(
    'all_messages',
    'SELECT id, dispatch, kind, sender, text, sent_at, delivered_at, acknowledged_at FROM messages ORDER BY sent_at, id',
    'SELECT id, dispatch, kind, sender, text, sent_at, delivered_at, acknowledged_at FROM messages ORDER BY sent_at, id',
    ListedMessage,
)


def all_messages(rows: Rows, /) -> list[ListedMessage]:
    """All messages, oldest first."""
    return rows.select_all(ALL_MESSAGES, ListedMessage, {})


OLD_MESSAGES = Query(
    'old_messages',
    'SELECT COUNT(*) AS n FROM messages WHERE acknowledged_at IS NOT NULL AND acknowledged_at < :before',
    'SELECT COUNT(*) AS n FROM messages WHERE acknowledged_at IS NOT NULL AND acknowledged_at < %(before)s',
    Count,
)


def old_messages(rows: Rows, /, *, before: int) -> Count:
    """How many messages were acknowledged before a time."""
    return rows.select_exactly_one(OLD_MESSAGES, Count, {'before': before})


PRUNE_MESSAGES = Query(
    'prune_messages',
    'DELETE FROM messages WHERE acknowledged_at IS NOT NULL AND acknowledged_at < :before',
    'DELETE FROM messages WHERE acknowledged_at IS NOT NULL AND acknowledged_at < %(before)s',
    None,
)


def prune_messages(tx: Tx, /, *, before: int) -> int:
    """Delete messages that were acknowledged before a time."""
    return tx.write(PRUNE_MESSAGES, {'before': before})


HAND_OUT_MESSAGE = Query(
    'hand_out_message',
    'UPDATE messages SET delivered_at = :at, how = :how WHERE id = :id AND dispatch = :dispatch AND acknowledged_at IS NULL AND (delivered_at IS NULL OR delivered_at < :before OR delivered_at > :after)',
    'UPDATE messages SET delivered_at = %(at)s, how = %(how)s WHERE id = %(id)s AND dispatch = %(dispatch)s AND acknowledged_at IS NULL AND (delivered_at IS NULL OR delivered_at < %(before)s OR delivered_at > %(after)s)',
    None,
)


def hand_out_message(tx: Tx, /, *, at: int | None, how: str | None, id: str, dispatch: str, before: int, after: int) -> int:
    """Compare and set: take a message for delivery, so that one process delivers it. A delivery that was begun before `before` without an acknowledgement counts as lost; one after `after` was begun while the clock was ahead."""
    return tx.write(HAND_OUT_MESSAGE, {'at': at, 'how': how, 'id': id, 'dispatch': dispatch, 'before': before, 'after': after})


MESSAGE_BY_ID = Query(
    'message_by_id',
    'SELECT id, dispatch, kind, sender, text, sent_at, delivered_at, how, acknowledged_at FROM messages WHERE id = :id',
    'SELECT id, dispatch, kind, sender, text, sent_at, delivered_at, how, acknowledged_at FROM messages WHERE id = %(id)s',
    Message,
)


def message_by_id(rows: Rows, /, *, id: str) -> Message | None:
    """A message by its id."""
    return rows.select_one(MESSAGE_BY_ID, Message, {'id': id})
