-- name: add_job
-- Record a new job.
INSERT INTO jobs (id, project, name, source, folder, parameters, actor, home, added_at, changed_at, begun_at)
VALUES (:id, :project, :name, :source, :folder, :parameters, :actor, :home, :at, :at, :at) ON CONFLICT DO NOTHING;

-- name: job_by_id
-- A job by its id.
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
-- Jobs that run, and jobs that are paused or failed and wait for a person, newest first.
-- returns: Job*
SELECT * FROM jobs WHERE state IN ('running', 'paused', 'failed') ORDER BY added_at DESC, id LIMIT :most;

-- name: begin_job
-- Record that a runner starts or continues a job that is running, paused or failed.
UPDATE jobs SET state = :after, reason = NULL, begun_at = :at, changed_at = :at, ended_at = NULL
WHERE id = :id AND state IN ('running', 'paused', 'failed');

-- name: renew_job
-- Record that a job is run again from its setup, with a new document and input.
UPDATE jobs SET state = :after, phase = :phase, reason = NULL, source = :source, folder = :folder,
                parameters = :parameters, begun_at = :at, changed_at = :at, ended_at = NULL
WHERE id = :id AND state <> 'cancelled';

-- name: end_job
-- Compare and set: record that a running job is paused, failed, done or cancelled.
UPDATE jobs SET state = :after, reason = :reason, changed_at = :at, ended_at = :at WHERE id = :id AND state = :before;

-- name: cancel_job
-- Cancel a job that has not ended.
UPDATE jobs SET state = :after, reason = :reason, changed_at = :at, ended_at = :at
WHERE id = :id AND state NOT IN ('done', 'cancelled');

-- name: reopen_job
-- Put an ended job back to its map phase, because an item has to be tried again.
UPDATE jobs SET state = :after, phase = :phase, reason = :reason, changed_at = :at, ended_at = NULL
WHERE id = :id AND state IN ('done', 'failed', 'paused');

-- name: step_phase
-- Compare and set: change the phase of a job.
UPDATE jobs SET phase = :after, changed_at = :at WHERE id = :id AND phase = :before;

-- name: add_item
-- Add an item to a job; nothing changes when the job has an item of the same id, made from its content.
INSERT INTO items (job, id, part, number, data) VALUES (:job, :id, :part, :number, :data) ON CONFLICT DO NOTHING;

-- name: renumber_item
-- Set the place of an item in the job's input.
UPDATE items SET number = :number WHERE job = :job AND id = :id AND part = 'map' AND number <> :number;

-- name: number_away
-- Make the numbers of all items negative before the input is read again. Items that are still in the input get a positive
-- number again (`renumber_item`).
UPDATE items SET number = -number WHERE job = :job AND part = 'map' AND number > 0;

-- name: skip_gone_items
-- Skip the waiting items that are no longer in the input: their number is still negative.
UPDATE items SET state = :after, reason = :reason, ended_at = :at WHERE job = :job AND part = 'map' AND number < 0 AND state = :before;

-- name: back_items
-- Make items wait again that were skipped because they were missing from the input, and that are in it again.
UPDATE items SET state = :after, reason = NULL, ended_at = NULL, failures = 0
WHERE job = :job AND part = 'map' AND number > 0 AND state = :before AND reason = :reason;

-- name: item_by_id
-- An item of a job by its id.
-- returns: Item?
SELECT * FROM items WHERE job = :job AND id = :id;

-- name: items_like
-- Items whose id begins with a text.
-- returns: Item*
SELECT * FROM items WHERE job = :job AND id LIKE :prefix ORDER BY id LIMIT :most;

-- name: item_of_task
-- The item of a job whose work is this task.
-- returns: Item?
SELECT i.* FROM tasks t JOIN jobs j ON j.id = t.job AND j.project = t.project
JOIN items i ON i.job = t.job AND i.id = SUBSTR(t.slug, LENGTH('job-' || t.job || '-') + 1)
WHERE t.project = :project AND t.slug = :slug;

-- name: count_items
-- How many items of a job's map are in each state.
-- returns: ItemCount*
SELECT state, COUNT(*) AS n FROM items WHERE job = :job AND part = 'map' GROUP BY state;

-- name: next_items
-- Waiting items that may be tried now, in the order of the input.
-- returns: Item*
SELECT * FROM items WHERE job = :job AND state = 'waiting' AND part = :part AND (not_before IS NULL OR not_before <= :now)
ORDER BY number LIMIT :most;

-- name: soonest_item
-- How many items wait, and when the first of them may be tried; 0: now.
-- returns: SoonestItem!
SELECT COUNT(*) AS n, MIN(COALESCE(not_before, 0)) AS at FROM items WHERE job = :job AND state = 'waiting' AND part = :part;

-- name: items_at_work
-- Items that are running or being merged.
-- returns: Item*
SELECT * FROM items WHERE job = :job AND state IN ('running', 'merging') ORDER BY number;

-- name: items_page
-- Items by number, one page at a time; only those of one state if `state` is given.
-- returns: Item*
-- takes: state str | None
SELECT * FROM items WHERE job = :job AND part = 'map' AND (CAST(:state AS TEXT) IS NULL OR state = :state)
  AND (number > :after OR (number = :after AND id > :after_id)) ORDER BY number, id LIMIT :most;

-- name: start_item
-- Compare and set: start the next attempt at an item.
UPDATE items SET state = :after, attempts = attempts + 1, dispatch = NULL, verdict = NULL, reason = NULL, not_before = NULL,
                 started_at = :at, ended_at = NULL
WHERE job = :job AND id = :id AND state = :before;

-- name: put_back_item
-- Compare and set: make an item wait again after an attempt that was no failure. An attempt that never began (`unbegun` is 1) is
-- not counted; an attempt that was interrupted, or ended by a usage limit, is counted.
UPDATE items SET state = :after, attempts = attempts - :unbegun, not_before = :not_before, started_at = NULL
WHERE job = :job AND id = :id AND state = :before AND (verdict IS NULL OR signature = 'limit');

-- name: give_item
-- Record the dispatch of an item's present attempt.
UPDATE items SET dispatch = :dispatch WHERE job = :job AND id = :id AND state = 'running' AND dispatch IS NULL;

-- name: judge_item
-- Record the verdict on an item's steps by the dispatch that performed them; the first verdict counts.
UPDATE items SET verdict = :verdict, reason = :reason, signature = :signature
WHERE job = :job AND id = :id AND state = 'running' AND verdict IS NULL AND COALESCE(dispatch, :dispatch) = :dispatch;

-- name: fail_item
-- Compare and set: record a failed attempt at an item; the item waits for the next attempt, or has ended.
UPDATE items SET state = :after, reason = :reason, signature = :signature, failed_at = :at, not_before = :not_before,
                 failures = failures + 1, history = :history, ended_at = CASE WHEN :after = 'waiting' THEN NULL ELSE :at END
WHERE job = :job AND id = :id AND state = :before;

-- name: pass_item
-- Compare and set: an item's steps have succeeded, and its work is to be merged.
UPDATE items SET state = :after, reason = NULL, signature = NULL WHERE job = :job AND id = :id AND state = :before;

-- name: finish_item
-- Compare and set: an item is done.
UPDATE items SET state = :after, merged = :merged, reason = NULL, signature = NULL, ended_at = :at
WHERE job = :job AND id = :id AND state IN ('running', 'merging');

-- name: revive_item
-- Make a dead, parked or skipped item wait to be tried again.
UPDATE items SET state = :after, failures = 0, not_before = NULL, ended_at = NULL, reason = NULL, verdict = NULL
WHERE job = :job AND id = :id AND state IN ('dead', 'parked', 'skipped');

-- name: drop_item
-- Remove an item from the dead-letter queue: skip it for good.
UPDATE items SET state = :after, reason = :reason WHERE job = :job AND id = :id AND state IN ('dead', 'parked');

-- name: reset_part
-- Make the item for a job's setup or reduce wait to be run again.
UPDATE items SET state = :after, failures = 0, not_before = NULL, ended_at = NULL, reason = NULL, verdict = NULL
WHERE job = :job AND id = :id AND state NOT IN ('waiting', 'running', 'merging');

-- name: failures_alike
-- The most frequent signature of failures since a time, and how many items have it.
-- returns: FailuresAlike?
-- column: signature str
SELECT signature, COUNT(*) AS n FROM items
WHERE job = :job AND part = 'map' AND signature IS NOT NULL AND failed_at >= :since GROUP BY signature ORDER BY n DESC, signature LIMIT 1;

-- name: items_tried
-- How many items of a job's map have failed or were done since a time.
-- returns: Count!
SELECT COUNT(*) AS n FROM items
WHERE job = :job AND part = 'map' AND ((signature IS NOT NULL AND failed_at >= :since) OR (state = 'done' AND ended_at >= :since));

-- name: ended_over_time
-- When each item ended and in which state, for the chart.
-- returns: EndedItem*
-- column: ended_at int
SELECT ended_at, state FROM items WHERE job = :job AND part = 'map' AND ended_at IS NOT NULL ORDER BY ended_at, id;

-- name: add_step
-- Record one step of an attempt at an item.
INSERT INTO job_steps (job, item, attempt, number, title, started_at, ended_at, status, reason, commits)
VALUES (:job, :item, :attempt, :number, :title, :started_at, :ended_at, :status, :reason, :commits) ON CONFLICT DO NOTHING;

-- name: steps_of_item
-- The steps of all attempts at an item.
-- returns: JobStep*
SELECT * FROM job_steps WHERE job = :job AND item = :item ORDER BY attempt, number;

-- name: add_job_task
-- Add the task for an item of a job.
INSERT INTO tasks (project, slug, title, description, added_at, changed_at, job)
VALUES (:project, :slug, :title, :description, :at, :at, :job) ON CONFLICT DO NOTHING;

-- name: open_job_task
-- Open the task of an item for a new attempt, whatever the last attempt left, unless a dispatch still works on it.
UPDATE tasks SET status = :after, stage = 'worker', assignee = NULL, reason = NULL, archived = 0, paused = 0, fixes = 0, ended_at = NULL,
                 not_before = NULL, changed_at = :at
WHERE project = :project AND slug = :slug AND job = :job
  AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug
                  AND d.exec_state IN ('pending', 'in_flight'));

-- name: close_job_task
-- End and archive the task of an item that has ended, so that its worktree may be removed.
UPDATE tasks SET status = :after, archived = 1, reason = :reason, ended_at = :at, changed_at = :at
WHERE project = :project AND slug = :slug AND job = :job
  AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug
                  AND d.exec_state IN ('pending', 'in_flight'));

-- name: open_tasks_of_job
-- Tasks of a job that are not archived: their worktrees may still exist.
-- returns: TaskTrouble*
SELECT slug, status, reason FROM tasks WHERE project = :project AND job = :job AND archived = 0 ORDER BY slug;

-- name: job_litter
-- Tasks of items that have ended but that are not archived, so that their worktrees were not removed.
-- returns: JobLitter*
-- column: job str
SELECT t.project, t.slug, t.job, i.id AS item, i.state, j.state AS job_state, j.home FROM tasks t JOIN jobs j ON j.id = t.job
JOIN items i ON i.job = t.job AND i.id = SUBSTR(t.slug, LENGTH('job-' || t.job || '-') + 1)
WHERE t.job IS NOT NULL AND t.archived = 0
  AND (j.state = 'cancelled' OR (i.state IN ('done', 'skipped') AND (i.part = 'map' OR j.state = 'done')))
ORDER BY t.project, t.slug;

-- name: task_job
-- The job to which a task belongs, NULL for none; no row when the task is missing.
-- returns: TaskJob?
SELECT job FROM tasks WHERE project = :project AND slug = :slug;

-- name: remove_job_steps
-- Delete the steps of all jobs of a project.
DELETE FROM job_steps WHERE job IN (SELECT id FROM jobs WHERE project = :project);

-- name: remove_items
-- Delete the items of all jobs of a project.
DELETE FROM items WHERE job IN (SELECT id FROM jobs WHERE project = :project);

-- name: count_job_claims
-- How many claims of a project's jobs are not released.
-- returns: Count!
SELECT COUNT(*) AS n FROM claims WHERE state <> 'released' AND job IN (SELECT id FROM jobs WHERE project = :project);

-- name: remove_job_claims
-- Delete the released claims of a project's jobs.
DELETE FROM claims WHERE state = 'released' AND job IN (SELECT id FROM jobs WHERE project = :project);

-- name: remove_jobs
-- Delete the jobs of a project.
DELETE FROM jobs WHERE project = :project;

-- name: dispatches_of_task
-- All dispatches of a task that are still in the tables, oldest first.
-- returns: DispatchOfTask*
SELECT id, exec_state FROM dispatches WHERE project = :project AND slug = :slug ORDER BY created_at, id;
