-- name: add_message
-- Something to be told to an agent.
INSERT INTO messages (id, dispatch, kind, sender, text, sent_at) VALUES (:id, :dispatch, :kind, :sender, :text, :at)
ON CONFLICT DO NOTHING;

-- name: waiting_messages
-- What an agent has not acknowledged yet, oldest first.
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

-- name: prune_messages
-- Ids of what was acknowledged are kept for a week.
DELETE FROM messages WHERE acknowledged_at IS NOT NULL AND acknowledged_at < :before;
