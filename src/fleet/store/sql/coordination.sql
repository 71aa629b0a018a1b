-- name: add_nonce
-- The hash of a new coordinator's proof.
INSERT INTO nonces (dispatch, project, hash, minted_at) VALUES (:dispatch, :project, :hash, :at) ON CONFLICT DO NOTHING;

-- name: nonce_of
SELECT dispatch, project, hash, minted_at, spent_at FROM nonces WHERE dispatch = :dispatch;

-- name: spend_nonce
-- Compare and set: a proof is presented once.
UPDATE nonces SET spent_at = :at WHERE dispatch = :dispatch AND spent_at IS NULL;

-- name: stale_nonces
-- Proofs that were never presented, and whose dispatch is no candidate any more: evidence of a change that did not come off.
SELECT n.dispatch, n.project, n.minted_at FROM nonces n
WHERE n.spent_at IS NULL AND NOT EXISTS (SELECT 1 FROM seats s WHERE s.candidate = n.dispatch)
ORDER BY n.minted_at;

-- name: prune_nonces
-- Spent proofs, after a month; never an unspent one.
DELETE FROM nonces WHERE spent_at IS NOT NULL AND spent_at < :before;

-- name: set_candidate
-- Compare and set: one candidate at a time, beside the holder it is to follow.
UPDATE seats SET candidate = :candidate, deadline = :deadline
WHERE project = :project AND candidate IS NULL AND COALESCE(holder, '') = COALESCE(CAST(:holder AS TEXT), '');

-- name: seat_candidate
-- The commit of a Replace: the candidate becomes the holder.
UPDATE seats SET holder = candidate, epoch = epoch + 1, candidate = NULL, deadline = NULL
WHERE project = :project AND candidate = :candidate;

-- name: withdraw_candidate
-- The opposite: the candidate goes, the holder stays.
UPDATE seats SET candidate = NULL, deadline = NULL WHERE project = :project AND candidate = :candidate;

-- name: empty_seat
-- The coordinator was stopped on purpose.
UPDATE seats SET holder = NULL, epoch = epoch + 1 WHERE project = :project AND holder = :holder;

-- name: add_handoff
INSERT INTO handoffs (id, dispatch, project, slug, reason, document, asked_by, at)
VALUES (:id, :dispatch, :project, :slug, :reason, :document, :asked_by, :at) ON CONFLICT DO NOTHING;

-- name: queued_handoff_of
SELECT * FROM handoffs WHERE dispatch = :dispatch AND state = 'queued';

-- name: queued_handoffs
-- What is to be drained, oldest first.
SELECT * FROM handoffs WHERE state = 'queued' AND (CAST(:project AS TEXT) IS NULL OR project = :project) ORDER BY at, id;

-- name: listed_handoffs
SELECT * FROM handoffs WHERE (CAST(:project AS TEXT) IS NULL OR project = :project) ORDER BY at, id;

-- name: handoff_by_id
SELECT * FROM handoffs WHERE id = :id;

-- name: defer_handoff
UPDATE handoffs SET deferred = :why WHERE id = :id AND state = 'queued';

-- name: end_handoff
-- Compare and set: an entry is finished once.
UPDATE handoffs SET state = :state, successor = :successor, done_at = :at, deferred = NULL WHERE id = :id AND state = 'queued';
