-- name: reserve_id
-- Give out a dispatch id, once and for all time.
INSERT INTO ids (id, at) VALUES (:id, :at) ON CONFLICT DO NOTHING;

-- name: id_given
-- Whether an id was ever given out.
-- returns: Existence?
SELECT 1 AS yes FROM ids WHERE id = :id;

-- name: add_dispatch
-- The journal of an attempt begins.
INSERT INTO dispatches (id, kind, project, slug, owner, host, home, tmux_socket, created_at, updated_at, predecessor, engine,
                        autonomy, model, command, base, spawner, server)
VALUES (:id, :kind, :project, :slug, :owner, :host, :home, :tmux_socket, :at, :at, :predecessor, :engine,
        :autonomy, :model, :command, :base, :spawner, :server)
ON CONFLICT DO NOTHING;

-- name: dispatch_by_id
-- module: reports
-- One journal.
-- returns: Dispatch?
SELECT * FROM dispatches WHERE id = :id;

-- name: listed_dispatches
-- Journals in the tables, oldest first.
-- returns: Dispatch*
SELECT * FROM dispatches
WHERE (CAST(:project AS TEXT) IS NULL OR project = :project)
  AND (:ended = 1 OR exec_state IN ('pending', 'in_flight'))
ORDER BY created_at, id;

-- name: dispatches_like
-- Journals whose id begins with a text, or that work on a task of that slug.
-- returns: DispatchHead*
SELECT id, kind, project, slug, exec_state, created_at FROM dispatches
WHERE id LIKE :prefix OR slug = :slug ORDER BY created_at DESC, id;

-- name: newest_dispatch
-- The journal that was begun last.
-- returns: DispatchId?
SELECT id FROM dispatches ORDER BY created_at DESC, id LIMIT 1;

-- name: unfinished_of_task
-- The attempt that a task has now.
-- returns: Dispatch?
SELECT * FROM dispatches WHERE project = :project AND slug = :slug AND exec_state IN ('pending', 'in_flight');

-- name: last_of_task
-- The newest journal of a task.
-- returns: Dispatch?
SELECT * FROM dispatches WHERE project = :project AND slug = :slug ORDER BY created_at DESC, id LIMIT 1;

-- name: count_unfinished
-- How many agents are at work, in all and in one project; coordinators are not counted.
-- returns: UnfinishedCount!
SELECT COUNT(*) AS everywhere, COALESCE(SUM(CASE WHEN project = :project THEN 1 ELSE 0 END), 0) AS here
FROM dispatches WHERE exec_state IN ('pending', 'in_flight') AND kind <> 'coord';

-- name: launch_dispatch
-- Compare and set: one launch a dispatch.
UPDATE dispatches SET exec_state = :after, process = :process, launched_at = :at, updated_at = :at
WHERE id = :id AND exec_state = :before AND asked_for IS NULL;

-- name: set_sandbox
-- What the agent will be started in.
UPDATE dispatches SET sandbox = :sandbox WHERE id = :id AND exec_state = 'pending';

-- name: add_token
-- The hash of the secret that a launch gives its agent.
INSERT INTO tokens (dispatch, hash) VALUES (:dispatch, :hash) ON CONFLICT DO NOTHING;

-- name: token_of
-- A token is spent when its dispatch ends.
-- returns: Token?
SELECT t.hash FROM tokens t JOIN dispatches d ON d.id = t.dispatch WHERE t.dispatch = :dispatch AND d.exec_state = 'in_flight';

-- name: report_dispatch
-- module: reports
-- The first report counts.
UPDATE dispatches SET report = :report, report_reason = :reason, reported_commit = :work, reported_at = :at, updated_at = :at
WHERE id = :id AND report IS NULL AND exec_state IN ('pending', 'in_flight');

-- name: announce_merge
-- The merge commit that a finisher is about to move the integration branch to. Until it ends, its task cannot be changed.
UPDATE dispatches SET reported_commit = :commit, updated_at = :at
WHERE id = :id AND kind = 'finisher' AND exec_state = 'in_flight';

-- name: announced_merge
-- module: reports
-- The finisher that publishes a task's merge just now.
-- returns: Announced?
SELECT id FROM dispatches WHERE project = :project AND slug = :slug AND exec_state = 'in_flight' AND kind = 'finisher'
  AND reported_commit IS NOT NULL;

-- name: ask_dispatch
-- Write down that an agent is asked to exit. A kill weighs more than a stop, a stop more than a handoff or a report.
UPDATE dispatches SET asked_at = COALESCE(asked_at, :at), asked_for = :asked_for, asked_reason = :reason, updated_at = :at
WHERE id = :id AND exec_state IN ('pending', 'in_flight')
  AND (asked_for IS NULL OR asked_for = 'report' OR (asked_for <> 'kill' AND :asked_for = 'kill')
       OR (asked_for = 'handoff' AND :asked_for = 'stop'));

-- name: end_dispatch
-- Compare and set: the outcome, committed only by settle.
UPDATE dispatches SET exec_state = :after, exit_status = :exit_status, blocked_reason = :reason, settled_commit = :work,
                      ended_at = :at, updated_at = :at
WHERE id = :id AND exec_state = :before AND COALESCE(report, '') = COALESCE(CAST(:report AS TEXT), '')
  AND COALESCE(asked_for, '') = COALESCE(CAST(:asked_for AS TEXT), '');

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
INSERT INTO agents (dispatch, engine, session, started_at, conversation)
VALUES (:id, :engine, :session, :at, :conversation) ON CONFLICT DO NOTHING;

-- name: archive_agent
UPDATE agents SET archived_at = :at WHERE dispatch = :id AND archived_at IS NULL;

-- name: agent_by_id
-- returns: Agent?
SELECT * FROM agents WHERE dispatch = :id;

-- name: add_spawn_failure
INSERT INTO spawn_failures (project, slug, dispatch, at, why) VALUES (:project, :slug, :dispatch, :at, :why)
ON CONFLICT DO NOTHING;

-- name: count_spawn_failures
-- returns: Count!
SELECT COUNT(*) AS n FROM spawn_failures WHERE project = :project AND slug = :slug AND at > :since;

-- name: assign_task
-- The claiming transaction of a dispatch: open and ready becomes in progress.
UPDATE tasks SET status = :after, assignee = :id, attempts = attempts + 1, reason = NULL,
                 started_at = :at, ended_at = NULL, changed_at = :at
WHERE project = :project AND slug = :slug AND status = 'open' AND paused = 0 AND open_blockers = 0
  AND (not_before IS NULL OR not_before <= :at);

-- name: assign_stage
-- The claiming transaction of a later stage: what waits for this stage, parked to be mended or left by its predecessor.
UPDATE tasks SET status = :after, assignee = :id, attempts = attempts + 1, reason = NULL,
                 fixes = fixes + CASE WHEN status = 'blocked' THEN :mends ELSE 0 END,
                 started_at = COALESCE(started_at, :at), ended_at = NULL, changed_at = :at
WHERE project = :project AND slug = :slug AND stage = :stage AND paused = 0
  AND ((status = 'blocked' AND stage IN ('fix', 'rebase')) OR (status = 'in_progress' AND assignee = :predecessor))
  AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug
                  AND d.exec_state IN ('pending', 'in_flight'));

-- name: resume_task
-- The claiming transaction of a resume: what was left by the attempt that it follows, and taken up by nobody since.
UPDATE tasks SET status = :after, assignee = :id, attempts = attempts + 1, reason = NULL,
                 started_at = COALESCE(started_at, :at), ended_at = NULL, changed_at = :at
WHERE project = :project AND slug = :slug AND status IN ('blocked', 'failed') AND assignee = :predecessor
  AND paused = 0 AND archived = 0;

-- name: left_attempts
-- Ended attempts whose task is still where they left it, oldest first: what could be resumed.
-- returns: LeftAttempt*
SELECT d.*, a.conversation FROM dispatches d
JOIN tasks t ON t.project = d.project AND t.slug = d.slug AND t.assignee = d.id
LEFT JOIN agents a ON a.dispatch = d.id
WHERE d.exec_state IN ('blocked', 'failed') AND d.kind <> 'finisher' AND t.status IN ('blocked', 'failed')
  AND t.archived = 0 AND t.paused = 0 AND t.job IS NULL AND (CAST(:project AS TEXT) IS NULL OR d.project = :project)
ORDER BY d.created_at, d.id;

-- name: job_of_task
-- The job whose item a task is.
-- returns: JobOfTask?
-- column: job str
SELECT job FROM tasks WHERE project = :project AND slug = :slug AND job IS NOT NULL;

-- name: set_resumes
-- How a resume goes on.
UPDATE dispatches SET resumes = :resumes WHERE id = :id AND exec_state = 'pending';

-- name: set_instead
-- The engine that would have come first, and why it is held back.
UPDATE dispatches SET instead_of = :engine, instead_why = :why WHERE id = :id AND exec_state = 'pending';

-- name: note_descendants
-- Processes that descend from an agent and may outlive it unmarked.
UPDATE dispatches SET descendants = :descendants WHERE id = :id AND exec_state = 'in_flight';

-- name: settle_task
-- What became of a task, by the attempt that still has it; and the commit that its work is at now, if there is work.
UPDATE tasks SET status = :after, stage = COALESCE(CAST(:stage AS TEXT), stage), work = COALESCE(CAST(:work AS TEXT), work), assignee = :assignee, reason = :reason,
                 not_before = COALESCE(CAST(:not_before AS BIGINT), not_before), ended_at = :ended_at, changed_at = :at
WHERE project = :project AND slug = :slug AND status = :before AND assignee = :id;

-- name: merge_task
-- Git says it is merged: the last stage is over, and the task is done.
UPDATE tasks SET merged = :commit, merged_at = :at, changed_at = :at, status = :after, stage = 'finisher', reason = NULL,
                 ended_at = COALESCE(ended_at, :at)
WHERE project = :project AND slug = :slug AND merged IS NULL AND status = :before;

-- name: park_task
-- Something stands in the way of a task's last stage: it waits to be mended, at the stage that can.
UPDATE tasks SET status = :after, stage = :stage, reason = :reason, changed_at = :at
WHERE project = :project AND slug = :slug AND status = :before;

-- name: mergeable_tasks
-- Tasks that wait to be merged: at their last stage with nobody at work, or done by somebody's word.
-- returns: MergeableTask*
SELECT slug, status, stage, assignee FROM tasks
WHERE project = :project AND merged IS NULL AND pull_request IS NULL AND archived = 0 AND job IS NULL
  AND (status = 'done' OR (status IN ('in_progress', 'open') AND stage = 'finisher'))
  AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug
                  AND d.exec_state IN ('pending', 'in_flight'))
ORDER BY priority DESC, changed_at, slug;

-- name: waiting_stages
-- Tasks that wait for an agent at a later stage: a review, or something to be mended. What a mender left blocked (interrupted,
-- stopped, or by its own word) waits to be resumed, or for a person.
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
-- Its session was made on another tmux server than was meant.
UPDATE dispatches SET server = :server, updated_at = :at WHERE id = :id;

-- name: last_server
-- The tmux server that the newest dispatch of a home on a socket was made on.
-- returns: ServerOf?
-- column: server str
SELECT server FROM dispatches WHERE tmux_socket = :socket AND (home IS NULL OR home = :home) AND server IS NOT NULL ORDER BY created_at DESC LIMIT 1;
