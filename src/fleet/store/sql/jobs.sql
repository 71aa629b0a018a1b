-- name: add_job
INSERT INTO jobs (id, project, name, source, folder, parameters, actor, home, added_at, changed_at, begun_at)
VALUES (:id, :project, :name, :source, :folder, :parameters, :actor, :home, :at, :at, :at) ON CONFLICT DO NOTHING;

-- name: job_by_id
-- returns: Job?
SELECT * FROM jobs WHERE id = :id;

-- name: jobs_like
-- Jobs whose id begins with a text, newest first.
-- returns: JobHead*
SELECT id, name, project, state FROM jobs WHERE id LIKE :prefix ORDER BY added_at DESC, id LIMIT :most;

-- name: listed_jobs
-- Jobs of one project or of all, newest first.
-- returns: Job*
SELECT * FROM jobs WHERE (CAST(:project AS TEXT) IS NULL OR project = :project) ORDER BY added_at DESC, id LIMIT :most;

-- name: unfinished_jobs
-- Jobs that run, or that somebody has to look at, newest first.
-- returns: Job*
SELECT * FROM jobs WHERE state IN ('running', 'paused', 'failed') ORDER BY added_at DESC, id LIMIT :most;

-- name: begin_job
-- A runner takes a job up: what was paused or failed goes on.
UPDATE jobs SET state = :after, reason = NULL, begun_at = :at, changed_at = :at, ended_at = NULL
WHERE id = :id AND state IN ('running', 'paused', 'failed');

-- name: renew_job
-- The same job is run once more, with its document and input read anew.
UPDATE jobs SET state = :after, phase = 'setup', reason = NULL, source = :source, folder = :folder,
                parameters = :parameters, begun_at = :at, changed_at = :at, ended_at = NULL
WHERE id = :id AND state <> 'cancelled';

-- name: end_job
-- Compare and set: a job that runs is paused, fails, is done or cancelled.
UPDATE jobs SET state = :after, reason = :reason, changed_at = :at, ended_at = :at WHERE id = :id AND state = :before;

-- name: cancel_job
UPDATE jobs SET state = :after, reason = :reason, changed_at = :at, ended_at = :at
WHERE id = :id AND state NOT IN ('done', 'cancelled');

-- name: reopen_job
-- A job that was over has something to do again.
UPDATE jobs SET state = :after, phase = 'map', reason = :reason, changed_at = :at, ended_at = NULL
WHERE id = :id AND state IN ('done', 'failed', 'paused');

-- name: step_phase
-- Compare and set of the phase.
UPDATE jobs SET phase = :after, changed_at = :at WHERE id = :id AND phase = :before;

-- name: add_item
-- The same content again is the same item.
INSERT INTO items (job, id, part, number, data) VALUES (:job, :id, :part, :number, :data) ON CONFLICT DO NOTHING;

-- name: renumber_item
UPDATE items SET number = :number WHERE job = :job AND id = :id AND part = 'map' AND number <> :number;

-- name: number_away
-- Before the input is read anew: every item is thought to be gone.
UPDATE items SET number = -number WHERE job = :job AND part = 'map' AND number > 0;

-- name: skip_gone_items
-- Items that were not in the input any more and nobody had begun.
UPDATE items SET state = :after, reason = :reason, ended_at = :at WHERE job = :job AND part = 'map' AND number < 0 AND state = :before;

-- name: back_items
-- Items that were skipped because they were gone, and are in the input again.
UPDATE items SET state = :after, reason = NULL, ended_at = NULL, failures = 0
WHERE job = :job AND part = 'map' AND number > 0 AND state = :before AND reason = :reason;

-- name: item_by_id
-- returns: Item?
SELECT * FROM items WHERE job = :job AND id = :id;

-- name: items_like
-- Items whose id begins with a text.
-- returns: Item*
SELECT * FROM items WHERE job = :job AND id LIKE :prefix ORDER BY id LIMIT :most;

-- name: item_of_task
-- The item that a dispatch works on.
-- returns: Item?
SELECT i.* FROM tasks t JOIN jobs j ON j.id = t.job AND j.project = t.project
JOIN items i ON i.job = t.job AND i.id = SUBSTR(t.slug, LENGTH('job-' || t.job || '-') + 1)
WHERE t.project = :project AND t.slug = :slug;

-- name: count_items
-- How many items of a job's map are in each state.
-- returns: ItemCount*
SELECT state, COUNT(*) AS n FROM items WHERE job = :job AND part = 'map' GROUP BY state;

-- name: next_items
-- Items whose time has come, in their order.
-- returns: Item*
SELECT * FROM items WHERE job = :job AND state = 'waiting' AND part = :part AND (not_before IS NULL OR not_before <= :now)
ORDER BY number LIMIT :most;

-- name: soonest_item
-- When the next of those that wait may be tried.
-- returns: SoonestItem!
SELECT COUNT(*) AS n, MIN(COALESCE(not_before, 0)) AS at FROM items WHERE job = :job AND state = 'waiting' AND part = :part;

-- name: items_at_work
-- Items that are worked on or to be merged.
-- returns: Item*
SELECT * FROM items WHERE job = :job AND state IN ('running', 'merging') ORDER BY number;

-- name: items_page
-- Items by number, a page at a time. The state is what a person asked for, and may be none.
-- returns: Item*
-- takes: state str | None
SELECT * FROM items WHERE job = :job AND part = 'map' AND (CAST(:state AS TEXT) IS NULL OR state = :state)
  AND (number > :after OR (number = :after AND id > :after_id)) ORDER BY number, id LIMIT :most;

-- name: start_item
-- Compare and set: one attempt at a time.
UPDATE items SET state = :after, attempts = attempts + 1, dispatch = NULL, verdict = NULL, reason = NULL, not_before = NULL,
                 started_at = :at, ended_at = NULL
WHERE job = :job AND id = :id AND state = :before;

-- name: put_back_item
-- An attempt that never began does not count; one that was interrupted, or ended by a usage limit, does, but is no failure.
UPDATE items SET state = :after, attempts = attempts - :unbegun, not_before = :not_before, started_at = NULL
WHERE job = :job AND id = :id AND state = :before AND (verdict IS NULL OR signature = 'limit');

-- name: give_item
-- Which dispatch is the attempt.
UPDATE items SET dispatch = :dispatch WHERE job = :job AND id = :id AND state = 'running' AND dispatch IS NULL;

-- name: judge_item
-- What the steps came to, by the dispatch that did them; the first word counts.
UPDATE items SET verdict = :verdict, reason = :reason, signature = :signature
WHERE job = :job AND id = :id AND state = 'running' AND verdict IS NULL AND COALESCE(dispatch, :dispatch) = :dispatch;

-- name: fail_item
-- Compare and set: an attempt failed; it waits for the next, or is over.
UPDATE items SET state = :after, reason = :reason, signature = :signature, failed_at = :at, not_before = :not_before,
                 failures = failures + 1, history = :history, ended_at = CASE WHEN :after = 'waiting' THEN NULL ELSE :at END
WHERE job = :job AND id = :id AND state = :before;

-- name: pass_item
-- Compare and set: its steps are done, it is to be merged.
UPDATE items SET state = :after, reason = NULL, signature = NULL WHERE job = :job AND id = :id AND state = :before;

-- name: finish_item
-- Compare and set: it is done.
UPDATE items SET state = :after, merged = :merged, reason = NULL, signature = NULL, ended_at = :at
WHERE job = :job AND id = :id AND state IN ('running', 'merging');

-- name: revive_item
-- Out of the dead-letter queue, or parked: to be tried again.
UPDATE items SET state = :after, failures = 0, not_before = NULL, ended_at = NULL, reason = NULL, verdict = NULL
WHERE job = :job AND id = :id AND state IN ('dead', 'parked', 'skipped');

-- name: drop_item
-- Out of the dead-letter queue for good.
UPDATE items SET state = :after, reason = :reason WHERE job = :job AND id = :id AND state IN ('dead', 'parked');

-- name: reset_part
-- Setup or reduce is to be done once more.
UPDATE items SET state = :after, failures = 0, not_before = NULL, ended_at = NULL, reason = NULL, verdict = NULL
WHERE job = :job AND id = :id AND state NOT IN ('waiting', 'running', 'merging');

-- name: failures_alike
-- How many items failed in the same way since a time, most frequent first.
-- returns: FailuresAlike?
-- column: signature str
SELECT signature, COUNT(*) AS n FROM items
WHERE job = :job AND part = 'map' AND signature IS NOT NULL AND failed_at >= :since GROUP BY signature ORDER BY n DESC, signature LIMIT 1;

-- name: items_tried
-- How many items failed or were done since a time.
-- returns: Count!
SELECT COUNT(*) AS n FROM items
WHERE job = :job AND part = 'map' AND ((signature IS NOT NULL AND failed_at >= :since) OR (state = 'done' AND ended_at >= :since));

-- name: ended_over_time
-- When items ended, for the chart.
-- returns: EndedItem*
-- column: ended_at int
SELECT ended_at, state FROM items WHERE job = :job AND part = 'map' AND ended_at IS NOT NULL ORDER BY ended_at, id;

-- name: add_step
INSERT INTO job_steps (job, item, attempt, number, title, started_at, ended_at, status, reason, commits)
VALUES (:job, :item, :attempt, :number, :title, :started_at, :ended_at, :status, :reason, :commits) ON CONFLICT DO NOTHING;

-- name: steps_of_item
-- returns: JobStep*
SELECT * FROM job_steps WHERE job = :job AND item = :item ORDER BY attempt, number;

-- name: add_job_task
-- The task that an item is worked on as.
INSERT INTO tasks (project, slug, title, description, added_at, changed_at, job)
VALUES (:project, :slug, :title, :description, :at, :at, :job) ON CONFLICT DO NOTHING;

-- name: open_job_task
-- An attempt begins: whatever the last one left, the task is open.
UPDATE tasks SET status = :after, stage = 'worker', assignee = NULL, reason = NULL, archived = 0, paused = 0, fixes = 0, ended_at = NULL,
                 not_before = NULL, changed_at = :at
WHERE project = :project AND slug = :slug AND job = :job
  AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug
                  AND d.exec_state IN ('pending', 'in_flight'));

-- name: close_job_task
-- The item is over: its worktree may go.
UPDATE tasks SET status = :after, archived = 1, reason = :reason, ended_at = :at, changed_at = :at
WHERE project = :project AND slug = :slug AND job = :job
  AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug
                  AND d.exec_state IN ('pending', 'in_flight'));

-- name: open_tasks_of_job
-- Tasks of a job whose worktrees may still be there.
-- returns: TaskTrouble*
SELECT slug, status, reason FROM tasks WHERE project = :project AND job = :job AND archived = 0 ORDER BY slug;

-- name: job_litter
-- Tasks of jobs whose items are over, and that should have been let go.
-- returns: JobLitter*
-- column: job str
SELECT t.project, t.slug, t.job, i.id AS item, i.state, j.state AS job_state, j.home FROM tasks t JOIN jobs j ON j.id = t.job
JOIN items i ON i.job = t.job AND i.id = SUBSTR(t.slug, LENGTH('job-' || t.job || '-') + 1)
WHERE t.job IS NOT NULL AND t.archived = 0
  AND (j.state = 'cancelled' OR (i.state IN ('done', 'skipped') AND (i.part = 'map' OR j.state = 'done')))
ORDER BY t.project, t.slug;

-- name: task_job
-- returns: TaskJob?
SELECT job FROM tasks WHERE project = :project AND slug = :slug;

-- name: remove_job_steps
DELETE FROM job_steps WHERE job IN (SELECT id FROM jobs WHERE project = :project);

-- name: remove_items
DELETE FROM items WHERE job IN (SELECT id FROM jobs WHERE project = :project);

-- name: count_job_claims
-- Claims of a project's jobs that are not released.
-- returns: Count!
SELECT COUNT(*) AS n FROM claims WHERE state <> 'released' AND job IN (SELECT id FROM jobs WHERE project = :project);

-- name: remove_job_claims
DELETE FROM claims WHERE state = 'released' AND job IN (SELECT id FROM jobs WHERE project = :project);

-- name: remove_jobs
DELETE FROM jobs WHERE project = :project;

-- name: dispatches_of_task
-- Every journal of a task that is still in the tables, oldest first.
-- returns: DispatchOfTask*
SELECT id, exec_state FROM dispatches WHERE project = :project AND slug = :slug ORDER BY created_at, id;
