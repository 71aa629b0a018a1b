-- name: add_message
-- Something to be told to an agent.
INSERT INTO messages (id, dispatch, kind, sender, text, sent_at) VALUES (:id, :dispatch, :kind, :sender, :text, :at)
ON CONFLICT DO NOTHING;

-- name: waiting_messages
-- What an agent has not acknowledged yet, oldest first.
-- returns: WaitingMessage*
SELECT id, dispatch, kind, sender, text, sent_at, delivered_at, how FROM messages
WHERE dispatch = :dispatch AND acknowledged_at IS NULL ORDER BY sent_at, id;

-- name: deliver_message
-- It was handed out; again is fine, the id stays the same.
UPDATE messages SET delivered_at = COALESCE(delivered_at, :at), how = COALESCE(how, :how)
WHERE id = :id AND dispatch = :dispatch;

-- name: acknowledge_message
-- Compare and set: applied once.
UPDATE messages SET acknowledged_at = :at, delivered_at = COALESCE(delivered_at, :at)
WHERE id = :id AND dispatch = :dispatch AND acknowledged_at IS NULL;

-- name: inherit_messages
-- Who goes on in another's place gets what that one has not acknowledged.
UPDATE messages SET dispatch = :dispatch, delivered_at = NULL, how = NULL
WHERE dispatch = :predecessor AND acknowledged_at IS NULL AND kind = 'message';

-- name: last_said
-- When something was last said to an agent.
-- returns: LastSaid!
SELECT MAX(delivered_at) AS at FROM messages WHERE dispatch = :dispatch;

-- name: all_messages
-- Every message that is kept, oldest first.
-- returns: ListedMessage*
SELECT id, dispatch, kind, sender, text, sent_at, delivered_at, acknowledged_at FROM messages ORDER BY sent_at, id;

-- name: old_messages
-- How many acknowledged ones are older than a time.
-- returns: Count!
SELECT COUNT(*) AS n FROM messages WHERE acknowledged_at IS NOT NULL AND acknowledged_at < :before;

-- name: prune_messages
-- Ids of what was acknowledged are kept for a week.
DELETE FROM messages WHERE acknowledged_at IS NOT NULL AND acknowledged_at < :before;

-- name: hand_out_message
-- Compare and set: one at a time hands it out; who did so long ago without an acknowledgement has died over it.
-- Who did so in the future did it while the clock was ahead.
UPDATE messages SET delivered_at = :at, how = :how
WHERE id = :id AND dispatch = :dispatch AND acknowledged_at IS NULL
  AND (delivered_at IS NULL OR delivered_at < :before OR delivered_at > :after);

-- name: message_by_id
-- returns: Message?
SELECT id, dispatch, kind, sender, text, sent_at, delivered_at, how, acknowledged_at FROM messages WHERE id = :id;
