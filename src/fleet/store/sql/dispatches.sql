-- name: reserve_id
-- Give out a dispatch id, once and for all time.
INSERT INTO ids (id, at) VALUES (:id, :at) ON CONFLICT DO NOTHING;

-- name: id_given
-- Whether an id was ever given out.
SELECT 1 AS yes FROM ids WHERE id = :id;

-- name: add_dispatch
-- The journal of an attempt begins.
INSERT INTO dispatches (id, kind, project, slug, owner, host, tmux_socket, created_at, updated_at, predecessor, engine,
                        autonomy, model, command, base, spawner, server)
VALUES (:id, :kind, :project, :slug, :owner, :host, :tmux_socket, :at, :at, :predecessor, :engine,
        :autonomy, :model, :command, :base, :spawner, :server)
ON CONFLICT DO NOTHING;

-- name: dispatch_by_id
-- One journal.
SELECT * FROM dispatches WHERE id = :id;

-- name: listed_dispatches
-- Journals in the tables, oldest first.
SELECT * FROM dispatches
WHERE (CAST(:project AS TEXT) IS NULL OR project = :project)
  AND (:ended = 1 OR exec_state IN ('pending', 'in_flight'))
ORDER BY created_at, id;

-- name: dispatches_like
-- Journals whose id begins with a text, or that work on a task of that slug.
SELECT id, kind, project, slug, exec_state, created_at FROM dispatches
WHERE id LIKE :prefix OR slug = :slug ORDER BY created_at DESC, id;

-- name: newest_dispatch
-- The journal that was begun last.
SELECT id FROM dispatches ORDER BY created_at DESC, id LIMIT 1;

-- name: unfinished_of_task
-- The attempt that a task has now.
SELECT * FROM dispatches WHERE project = :project AND slug = :slug AND exec_state IN ('pending', 'in_flight');

-- name: last_of_task
-- The newest journal of a task.
SELECT * FROM dispatches WHERE project = :project AND slug = :slug ORDER BY created_at DESC, id LIMIT 1;

-- name: count_unfinished
-- How many agents are at work, in all and in one project; coordinators are not counted.
SELECT COUNT(*) AS everywhere, COALESCE(SUM(CASE WHEN project = :project THEN 1 ELSE 0 END), 0) AS here
FROM dispatches WHERE exec_state IN ('pending', 'in_flight') AND kind <> 'coord';

-- name: launch_dispatch
-- Compare and set: one launch a dispatch.
UPDATE dispatches SET exec_state = 'in_flight', process = :process, launched_at = :at, updated_at = :at
WHERE id = :id AND exec_state = 'pending' AND asked_for IS NULL;

-- name: report_dispatch
-- The first report counts.
UPDATE dispatches SET report = :report, report_reason = :reason, reported_at = :at, updated_at = :at
WHERE id = :id AND report IS NULL AND exec_state IN ('pending', 'in_flight');

-- name: ask_dispatch
-- Write down that an agent is asked to exit. A kill weighs more than a stop, a stop more than a report.
UPDATE dispatches SET asked_at = COALESCE(asked_at, :at), asked_for = :asked_for, asked_reason = :reason, updated_at = :at
WHERE id = :id AND exec_state IN ('pending', 'in_flight')
  AND (asked_for IS NULL OR asked_for = 'report' OR (asked_for = 'stop' AND :asked_for = 'kill'));

-- name: end_dispatch
-- Compare and set: the outcome, committed only by settle.
UPDATE dispatches SET exec_state = :after, exit_status = :exit_status, blocked_reason = :reason, ended_at = :at, updated_at = :at
WHERE id = :id AND exec_state = :before AND COALESCE(report, '') = COALESCE(CAST(:report AS TEXT), '')
  AND COALESCE(asked_for, '') = COALESCE(CAST(:asked_for AS TEXT), '');

-- name: step_exec
-- Compare and set of the exec state.
UPDATE dispatches SET exec_state = :after, updated_at = :at WHERE id = :id AND exec_state = :before;

-- name: step_recl
-- Compare and set of the reclamation state.
UPDATE dispatches SET recl_state = :after, updated_at = :at WHERE id = :id AND recl_state = :before;

-- name: forget_dispatch
DELETE FROM dispatches WHERE id = :id AND recl_state = 'complete';

-- name: forget_claims
DELETE FROM claims WHERE dispatch = :id AND state = 'released';

-- name: forget_agent
DELETE FROM agents WHERE dispatch = :id AND archived_at IS NOT NULL;

-- name: add_agent
-- An agent's record.
INSERT INTO agents (dispatch, engine, session, started_at) VALUES (:id, :engine, :session, :at) ON CONFLICT DO NOTHING;

-- name: archive_agent
UPDATE agents SET archived_at = :at WHERE dispatch = :id AND archived_at IS NULL;

-- name: agent_by_id
SELECT * FROM agents WHERE dispatch = :id;

-- name: add_spawn_failure
INSERT INTO spawn_failures (project, slug, dispatch, at, why) VALUES (:project, :slug, :dispatch, :at, :why)
ON CONFLICT DO NOTHING;

-- name: count_spawn_failures
SELECT COUNT(*) AS n FROM spawn_failures WHERE project = :project AND slug = :slug AND at > :since;

-- name: assign_task
-- The claiming transaction of a dispatch: open and ready becomes in progress.
UPDATE tasks SET status = 'in_progress', assignee = :id, attempts = attempts + 1, reason = NULL,
                 started_at = :at, ended_at = NULL, changed_at = :at
WHERE project = :project AND slug = :slug AND status = 'open' AND paused = 0 AND open_blockers = 0
  AND (not_before IS NULL OR not_before <= :at);

-- name: settle_task
-- What became of a task, by the attempt that still has it.
UPDATE tasks SET status = :status, assignee = :assignee, reason = :reason, ended_at = :ended_at, changed_at = :at
WHERE project = :project AND slug = :slug AND status = 'in_progress' AND assignee = :id;

-- name: merge_task
-- Git says it is merged.
UPDATE tasks SET merged = :commit, merged_at = :at, changed_at = :at
WHERE project = :project AND slug = :slug AND merged IS NULL;

-- name: park_task
-- Something stands in the way of a task that was done: put it before a person.
UPDATE tasks SET status = 'blocked', reason = :reason, changed_at = :at
WHERE project = :project AND slug = :slug AND status = :was;

-- name: mergeable_tasks
-- Tasks that are done, not merged and not archived.
SELECT slug FROM tasks WHERE project = :project AND status = 'done' AND merged IS NULL AND archived = 0 ORDER BY ended_at, slug;

-- name: last_server
-- The tmux server that the newest dispatch on a socket was made on.
SELECT server FROM dispatches WHERE tmux_socket = :socket AND server IS NOT NULL ORDER BY created_at DESC LIMIT 1;
