-- name: reserve_id
-- Give out a dispatch id, once and for all time.
INSERT INTO ids (id, at) VALUES (:id, :at) ON CONFLICT DO NOTHING;

-- name: add_dispatch
-- The journal of an attempt begins.
INSERT INTO dispatches (id, kind, project, slug, owner, host, tmux_socket, created_at, updated_at, predecessor, engine)
VALUES (:id, :kind, :project, :slug, :owner, :host, :tmux_socket, :at, :at, :predecessor, :engine)
ON CONFLICT DO NOTHING;

-- name: dispatch_by_id
-- One journal.
SELECT id, kind, project, slug, owner, host, tmux_socket, schema, created_at, updated_at, launched_at, ended_at,
       exec_state, recl_state, report, report_reason, reported_at, blocked_reason, predecessor, engine
FROM dispatches WHERE id = :id;

-- name: step_exec
-- Compare and set of the exec state.
UPDATE dispatches SET exec_state = :after, updated_at = :at WHERE id = :id AND exec_state = :before;

-- name: step_recl
-- Compare and set of the reclamation state.
UPDATE dispatches SET recl_state = :after, updated_at = :at WHERE id = :id AND recl_state = :before;

-- name: add_claim
-- An intent: the thing is about to be made.
INSERT INTO claims (id, dispatch, project, slug, host, kind, name, actor, effect_lock, created_at, updated_at)
VALUES (:id, :dispatch, :project, :slug, :host, :kind, :name, :actor, :effect_lock, :at, :at)
ON CONFLICT DO NOTHING;

-- name: step_claim
-- Compare and set of a claim's state.
UPDATE claims SET state = :after, updated_at = :at WHERE id = :id AND state = :before;

-- name: claims_of_dispatch
-- What a dispatch holds or held.
SELECT id, dispatch, host, kind, name, state, actor, data, failures, created_at, updated_at
FROM claims WHERE dispatch = :dispatch ORDER BY created_at, id;
