-- name: add_message
-- Queue a message to an agent.
INSERT INTO messages (id, dispatch, kind, sender, text, sent_at) VALUES (:id, :dispatch, :kind, :sender, :text, :at)
ON CONFLICT DO NOTHING;

-- name: waiting_messages
-- Messages that an agent has not acknowledged, oldest first.
-- returns: WaitingMessage*
SELECT id, dispatch, kind, sender, text, sent_at, delivered_at, how FROM messages
WHERE dispatch = :dispatch AND acknowledged_at IS NULL ORDER BY sent_at, id;

-- name: deliver_message
-- Record that a message was handed to its agent, and how; the first delivery is kept.
UPDATE messages SET delivered_at = COALESCE(delivered_at, :at), how = COALESCE(how, :how)
WHERE id = :id AND dispatch = :dispatch;

-- name: acknowledge_message
-- Compare and set: record that an agent has acknowledged a message, once.
UPDATE messages SET acknowledged_at = :at, delivered_at = COALESCE(delivered_at, :at)
WHERE id = :id AND dispatch = :dispatch AND acknowledged_at IS NULL;

-- name: inherit_messages
-- Move the unacknowledged messages of an agent to its successor, which gets them anew; reminders are not moved.
UPDATE messages SET dispatch = :dispatch, delivered_at = NULL, how = NULL
WHERE dispatch = :predecessor AND acknowledged_at IS NULL AND kind = 'message';

-- name: last_said
-- When a message was last delivered to an agent; NULL when none was.
-- returns: LastSaid!
SELECT MAX(delivered_at) AS at FROM messages WHERE dispatch = :dispatch;

-- name: all_messages
-- All messages, oldest first.
-- returns: ListedMessage*
SELECT id, dispatch, kind, sender, text, sent_at, delivered_at, acknowledged_at FROM messages ORDER BY sent_at, id;

-- name: old_messages
-- How many messages were acknowledged before a time.
-- returns: Count!
SELECT COUNT(*) AS n FROM messages WHERE acknowledged_at IS NOT NULL AND acknowledged_at < :before;

-- name: prune_messages
-- Delete messages that were acknowledged before a time.
DELETE FROM messages WHERE acknowledged_at IS NOT NULL AND acknowledged_at < :before;

-- name: hand_out_message
-- Compare and set: take a message for delivery, so that one process delivers it. A delivery that was begun before `before`
-- without an acknowledgement counts as lost; one after `after` was begun while the clock was ahead.
UPDATE messages SET delivered_at = :at, how = :how
WHERE id = :id AND dispatch = :dispatch AND acknowledged_at IS NULL
  AND (delivered_at IS NULL OR delivered_at < :before OR delivered_at > :after);

-- name: message_by_id
-- A message by its id.
-- returns: Message?
SELECT id, dispatch, kind, sender, text, sent_at, delivered_at, how, acknowledged_at FROM messages WHERE id = :id;
