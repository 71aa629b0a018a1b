-- name: reserve_id
-- Reserve a dispatch id; no id is ever given out twice.
INSERT INTO ids (id, at) VALUES (:id, :at) ON CONFLICT DO NOTHING;

-- name: id_given
-- Whether a dispatch id was ever reserved.
-- returns: Existence?
SELECT 1 AS yes FROM ids WHERE id = :id;

-- name: add_dispatch
-- Record a new dispatch; add no row when the task has an unfinished one.
INSERT INTO dispatches (id, kind, project, slug, owner, host, home, tmux_socket, created_at, updated_at, predecessor, engine,
                        autonomy, model, command, base, spawner, server)
VALUES (:id, :kind, :project, :slug, :owner, :host, :home, :tmux_socket, :at, :at, :predecessor, :engine,
        :autonomy, :model, :command, :base, :spawner, :server)
ON CONFLICT DO NOTHING;

-- name: dispatch_by_id
-- module: reports
-- One dispatch by its id.
-- returns: Dispatch?
SELECT * FROM dispatches WHERE id = :id;

-- name: listed_dispatches
-- Dispatches of one project or of all, oldest first; ended ones only on request.
-- returns: Dispatch*
SELECT * FROM dispatches
WHERE (CAST(:project AS TEXT) IS NULL OR project = :project)
  AND (:ended = 1 OR exec_state IN ('pending', 'in_flight'))
ORDER BY created_at, id;

-- name: dispatches_like
-- Dispatches whose id begins with a text, or that work on a task of that slug, newest first.
-- returns: DispatchHead*
SELECT id, kind, project, slug, exec_state, created_at FROM dispatches
WHERE id LIKE :prefix OR slug = :slug ORDER BY created_at DESC, id;

-- name: newest_dispatch
-- The dispatch that was recorded last.
-- returns: DispatchId?
SELECT id FROM dispatches ORDER BY created_at DESC, id LIMIT 1;

-- name: unfinished_of_task
-- The unfinished dispatch of a task.
-- returns: Dispatch?
SELECT * FROM dispatches WHERE project = :project AND slug = :slug AND exec_state IN ('pending', 'in_flight');

-- name: last_of_task
-- The newest dispatch of a task.
-- returns: Dispatch?
SELECT * FROM dispatches WHERE project = :project AND slug = :slug ORDER BY created_at DESC, id LIMIT 1;

-- name: count_unfinished
-- How many agents are at work, in all and in one project; coordinators are not counted.
-- returns: UnfinishedCount!
SELECT COUNT(*) AS everywhere, COALESCE(SUM(CASE WHEN project = :project THEN 1 ELSE 0 END), 0) AS here
FROM dispatches WHERE exec_state IN ('pending', 'in_flight') AND kind <> 'coord';

-- name: launch_dispatch
-- Compare and set: record the launch of a pending dispatch and its process; only the first launch succeeds.
UPDATE dispatches SET exec_state = :after, process = :process, launched_at = :at, updated_at = :at
WHERE id = :id AND exec_state = :before AND asked_for IS NULL;

-- name: set_sandbox
-- Record the sandbox in which the agent of a pending dispatch will be started.
UPDATE dispatches SET sandbox = :sandbox WHERE id = :id AND exec_state = 'pending';

-- name: add_token
-- Record the hash of the token that a launch gives to its agent.
INSERT INTO tokens (dispatch, hash) VALUES (:dispatch, :hash) ON CONFLICT DO NOTHING;

-- name: token_of
-- The hash of an agent's token; no row once its dispatch has ended.
-- returns: Token?
SELECT t.hash FROM tokens t JOIN dispatches d ON d.id = t.dispatch WHERE t.dispatch = :dispatch AND d.exec_state = 'in_flight';

-- name: report_dispatch
-- module: reports
-- Record the report of an unfinished dispatch; only the first report counts.
UPDATE dispatches SET report = :report, report_reason = :reason, reported_commit = :work, reported_at = :at, updated_at = :at
WHERE id = :id AND report IS NULL AND exec_state IN ('pending', 'in_flight');

-- name: announce_merge
-- Record the merge commit to which a finisher is about to move the integration branch. From then on the task cannot change until
-- the finisher has ended.
UPDATE dispatches SET reported_commit = :commit, updated_at = :at
WHERE id = :id AND kind = 'finisher' AND exec_state = 'in_flight';

-- name: announced_merge
-- module: reports
-- The finisher that is publishing a task's merge now.
-- returns: Announced?
SELECT id FROM dispatches WHERE project = :project AND slug = :slug AND exec_state = 'in_flight' AND kind = 'finisher'
  AND reported_commit IS NOT NULL;

-- name: ask_dispatch
-- Record what an agent is asked to exit for. 'kill' replaces any other request, 'stop' replaces 'handoff', and everything
-- replaces 'report'. The time of the first request is kept.
UPDATE dispatches SET asked_at = COALESCE(asked_at, :at), asked_for = :asked_for, asked_reason = :reason, updated_at = :at
WHERE id = :id AND exec_state IN ('pending', 'in_flight')
  AND (asked_for IS NULL OR asked_for = 'report' OR (asked_for <> 'kill' AND :asked_for = 'kill')
       OR (asked_for = 'handoff' AND :asked_for = 'stop'));

-- name: end_dispatch
-- Compare and set: record the outcome of a dispatch, unless its report or the request to exit has changed.
UPDATE dispatches SET exec_state = :after, exit_status = :exit_status, blocked_reason = :reason, settled_commit = :work,
                      ended_at = :at, updated_at = :at
WHERE id = :id AND exec_state = :before AND COALESCE(report, '') = COALESCE(CAST(:report AS TEXT), '')
  AND COALESCE(asked_for, '') = COALESCE(CAST(:asked_for AS TEXT), '');

-- name: step_recl
-- Compare and set: change the reclamation state of a dispatch.
UPDATE dispatches SET recl_state = :after, updated_at = :at WHERE id = :id AND recl_state = :before;

-- name: forget_dispatch
-- Delete a dispatch whose claims are all released; its journal is in the archive.
DELETE FROM dispatches WHERE id = :id AND recl_state = 'complete';

-- name: forget_claims
-- Delete the released claims of a dispatch.
DELETE FROM claims WHERE dispatch = :id AND state = 'released';

-- name: forget_agent
-- Delete the archived record of an agent.
DELETE FROM agents WHERE dispatch = :id AND archived_at IS NOT NULL;

-- name: add_agent
-- Add an agent's record.
INSERT INTO agents (dispatch, engine, session, started_at, conversation)
VALUES (:id, :engine, :session, :at, :conversation) ON CONFLICT DO NOTHING;

-- name: archive_agent
-- Archive an agent's record, because its dispatch has ended.
UPDATE agents SET archived_at = :at WHERE dispatch = :id AND archived_at IS NULL;

-- name: agent_by_id
-- An agent's record.
-- returns: Agent?
SELECT * FROM agents WHERE dispatch = :id;

-- name: add_spawn_failure
-- Record that a dispatch of a task could not be started.
INSERT INTO spawn_failures (project, slug, dispatch, at, why) VALUES (:project, :slug, :dispatch, :at, :why)
ON CONFLICT DO NOTHING;

-- name: count_spawn_failures
-- How many starts of a task have failed since a time.
-- returns: Count!
SELECT COUNT(*) AS n FROM spawn_failures WHERE project = :project AND slug = :slug AND at > :since;

-- name: assign_task
-- Compare and set: assign a ready task to a dispatch that starts.
UPDATE tasks SET status = :after, assignee = :id, attempts = attempts + 1, reason = NULL,
                 started_at = :at, ended_at = NULL, changed_at = :at
WHERE project = :project AND slug = :slug AND status = 'open' AND paused = 0 AND open_blockers = 0
  AND (not_before IS NULL OR not_before <= :at);

-- name: assign_stage
-- Compare and set: assign a task to a dispatch of a later stage. The task is blocked and waits to be mended, or it is in
-- progress and still assigned to the dispatch before this one (`predecessor`).
UPDATE tasks SET status = :after, assignee = :id, attempts = attempts + 1, reason = NULL,
                 fixes = fixes + CASE WHEN status = 'blocked' THEN :mends ELSE 0 END,
                 started_at = COALESCE(started_at, :at), ended_at = NULL, changed_at = :at
WHERE project = :project AND slug = :slug AND stage = :stage AND paused = 0
  AND ((status = 'blocked' AND stage IN ('fix', 'rebase')) OR (status = 'in_progress' AND assignee = :predecessor))
  AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug
                  AND d.exec_state IN ('pending', 'in_flight'));

-- name: resume_task
-- Compare and set: assign a task to a dispatch that resumes an ended one, if nobody has continued the task since.
UPDATE tasks SET status = :after, assignee = :id, attempts = attempts + 1, reason = NULL,
                 started_at = COALESCE(started_at, :at), ended_at = NULL, changed_at = :at
WHERE project = :project AND slug = :slug AND status IN ('blocked', 'failed') AND assignee = :predecessor
  AND paused = 0 AND archived = 0;

-- name: left_attempts
-- Ended dispatches that can perhaps be resumed: their task is still assigned to them and stopped; oldest first.
-- returns: LeftAttempt*
SELECT d.*, a.conversation FROM dispatches d
JOIN tasks t ON t.project = d.project AND t.slug = d.slug AND t.assignee = d.id
LEFT JOIN agents a ON a.dispatch = d.id
WHERE d.exec_state IN ('blocked', 'failed') AND d.kind <> 'finisher' AND t.status IN ('blocked', 'failed')
  AND t.archived = 0 AND t.paused = 0 AND t.job IS NULL AND (CAST(:project AS TEXT) IS NULL OR d.project = :project)
ORDER BY d.created_at, d.id;

-- name: job_of_task
-- The job to whose item a task belongs.
-- returns: JobOfTask?
-- column: job str
SELECT job FROM tasks WHERE project = :project AND slug = :slug AND job IS NOT NULL;

-- name: set_resumes
-- Record that a pending dispatch resumes an ended one: 'conversation' in the same conversation, 'again' in a new one.
UPDATE dispatches SET resumes = :resumes WHERE id = :id AND exec_state = 'pending';

-- name: set_instead
-- Record the held engine that a pending dispatch would have used, and why that engine is held.
UPDATE dispatches SET instead_of = :engine, instead_why = :why WHERE id = :id AND exec_state = 'pending';

-- name: note_descendants
-- Record the descendant processes of an agent that carry no mark of its dispatch and may outlive the agent.
UPDATE dispatches SET descendants = :descendants WHERE id = :id AND exec_state = 'in_flight';

-- name: settle_task
-- Compare and set: record the outcome of a dispatch on its task, if the task is still assigned to that dispatch, and the commit
-- of the work, if any.
UPDATE tasks SET status = :after, stage = COALESCE(CAST(:stage AS TEXT), stage), work = COALESCE(CAST(:work AS TEXT), work), assignee = :assignee, reason = :reason,
                 not_before = COALESCE(CAST(:not_before AS BIGINT), not_before), ended_at = :ended_at, changed_at = :at
WHERE project = :project AND slug = :slug AND status = :before AND assignee = :id;

-- name: merge_task
-- Compare and set: make a task done, because git contains its work.
UPDATE tasks SET merged = :commit, merged_at = :at, changed_at = :at, status = :after, stage = 'finisher', reason = NULL,
                 ended_at = COALESCE(ended_at, :at)
WHERE project = :project AND slug = :slug AND merged IS NULL AND status = :before;

-- name: park_task
-- Compare and set: block a task whose merge is not possible, at the stage that can mend it.
UPDATE tasks SET status = :after, stage = :stage, reason = :reason, changed_at = :at
WHERE project = :project AND slug = :slug AND status = :before;

-- name: mergeable_tasks
-- Tasks whose work waits to be merged: done, or at the stage `finisher`, without an unfinished dispatch or a pull request.
-- returns: MergeableTask*
SELECT slug, status, stage, assignee FROM tasks
WHERE project = :project AND merged IS NULL AND pull_request IS NULL AND archived = 0 AND job IS NULL
  AND (status = 'done' OR (status IN ('in_progress', 'open') AND stage = 'finisher'))
  AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug
                  AND d.exec_state IN ('pending', 'in_flight'))
ORDER BY priority DESC, changed_at, slug;

-- name: waiting_stages
-- Tasks that wait for an agent at a later stage: to be reviewed or mended. A task that a mending agent left blocked
-- (interrupted, stopped, or by its report) is not among them: it waits to be resumed, or for a person.
-- returns: WaitingStage*
SELECT slug, status, stage, assignee, fixes, reason FROM tasks
WHERE project = :project AND archived = 0 AND paused = 0 AND job IS NULL
  AND ((status = 'blocked' AND stage IN ('fix', 'rebase')) OR (status = 'in_progress' AND stage = 'review'))
  AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.id = tasks.assignee AND d.kind IN ('fix', 'rebase')
                  AND d.exec_state = 'blocked' AND tasks.status = 'blocked')
  AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug
                  AND d.exec_state IN ('pending', 'in_flight'))
ORDER BY priority DESC, changed_at, slug;

-- name: move_to_server
-- Record that the session of a dispatch was created on another tmux server than planned.
UPDATE dispatches SET server = :server, updated_at = :at WHERE id = :id;

-- name: last_server
-- The tmux server of the newest dispatch of a home on a tmux socket.
-- returns: ServerOf?
-- column: server str
SELECT server FROM dispatches WHERE tmux_socket = :socket AND (home IS NULL OR home = :home) AND server IS NOT NULL ORDER BY created_at DESC LIMIT 1;
