-- name: add_task
-- Add a task. Its count of open blockers is set after its edges are added.
INSERT INTO tasks (project, slug, title, description, status, priority, paused, archived, not_before, verify, engine, model,
                   assignee, attempts, reason, open_blockers, added_at, changed_at, started_at, ended_at)
VALUES (:project, :slug, :title, :description, :status, :priority, :paused, :archived, :not_before, :verify, :engine, :model,
        :assignee, :attempts, :reason, :open_blockers, :added_at, :changed_at, :started_at, :ended_at)
ON CONFLICT DO NOTHING;

-- name: task_exists
-- Whether a project has a task of this slug.
-- returns: Existence?
SELECT 1 AS yes FROM tasks WHERE project = :project AND slug = :slug;

-- name: task_state
-- module: hot
-- The columns of a task that the fence and the table of steps need, and whether an unfinished dispatch works on it.
-- returns: TaskState?
SELECT status, stage, assignee, archived, paused, not_before, open_blockers, started_at, attempts, fixes, merged, work,
       left_uncommitted, EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug
               AND d.exec_state IN ('pending', 'in_flight')) AS attempted
FROM tasks WHERE project = :project AND slug = :slug;

-- name: task_called
-- Whether any project has a task of this slug.
-- returns: Slug?
SELECT slug FROM tasks WHERE slug = :slug LIMIT 1;

-- name: claim_task
-- module: hot
-- Compare and set: claim a ready task; only one claim succeeds.
UPDATE tasks SET status = :after, assignee = :actor, attempts = attempts + 1, reason = NULL,
                 started_at = :at, ended_at = NULL, changed_at = :at
WHERE project = :project AND slug = :slug AND status = 'open' AND paused = 0 AND open_blockers = 0
  AND (not_before IS NULL OR not_before <= :at);

-- name: claim_task_all_the_same
-- Compare and set: claim an open task, even one that is not ready, for a person.
UPDATE tasks SET status = :after, assignee = :actor, attempts = attempts + 1, reason = NULL,
                 started_at = :at, ended_at = NULL, changed_at = :at
WHERE project = :project AND slug = :slug AND status = 'open';

-- name: end_task
-- module: reports
-- Compare and set on status and assignee: end or block a task, and record the commit of its work if it was reported.
UPDATE tasks SET status = :status, assignee = :assignee, reason = :reason, work = COALESCE(CAST(:work AS TEXT), work),
                 ended_at = :at, changed_at = :at
WHERE project = :project AND slug = :slug AND status = :was
  AND COALESCE(assignee, '') = COALESCE(CAST(:was_assignee AS TEXT), '');

-- name: leave_uncommitted
-- module: reports
-- Record why the agent that reported a task left changes uncommitted; NULL when it left none.
UPDATE tasks SET left_uncommitted = :reason
WHERE project = :project AND slug = :slug AND COALESCE(left_uncommitted, '') <> COALESCE(CAST(:reason AS TEXT), '');

-- name: reopen_task
-- Compare and set: open a task again without an assignee, with its count of fixes at 0. A blocked or failed task keeps its stage
-- unless it is opened `anew`; every other task starts at the first stage. The commit of its work is forgotten, unless the task
-- keeps its stage and a review has accepted its work.
UPDATE tasks SET status = :after, assignee = NULL, started_at = NULL, ended_at = NULL, archived = 0, fixes = 0, merged = NULL,
                 left_uncommitted = NULL,
                 merged_at = NULL, changed_at = :at, pull_request = CASE WHEN merged IS NULL THEN pull_request END,
                 stage = CASE WHEN status IN ('blocked', 'failed') AND :anew = 0 THEN stage ELSE 'worker' END,
                 reason = CASE WHEN status IN ('blocked', 'failed') AND :anew = 0 AND stage IN ('fix', 'rebase') THEN reason END,
                 work = CASE WHEN status IN ('blocked', 'failed') AND :anew = 0 AND EXISTS (SELECT 1 FROM verdicts v
                   WHERE v.project = tasks.project AND v.slug = tasks.slug AND v.verdict = 'accept') THEN work END
WHERE project = :project AND slug = :slug AND status = :was;

-- name: shift_blockers
-- module: reports
-- Change the count of open blockers of all dependents of a task: by -1 when the task was done or abandoned, by +1 when it is
-- open again.
UPDATE tasks SET open_blockers = open_blockers + :change
WHERE project = :project AND slug IN (SELECT slug FROM edges WHERE project = :project AND needs = :slug);

-- name: freed_by
-- module: reports
-- Open dependents of a task that have no open blocker left. `paused` and `not_before` are returned, not compared: with more
-- conditions SQLite would scan all ready tasks instead of these few.
-- returns: FreedTask*
SELECT t.slug, t.paused, t.not_before FROM edges e JOIN tasks t ON t.project = e.project AND t.slug = e.slug
WHERE e.project = :project AND e.needs = :slug AND t.status = 'open' AND t.open_blockers = 0
ORDER BY t.priority DESC, t.added_at, t.slug LIMIT :most;

-- name: count_blockers
-- Count a task's open blockers again, after its edges changed.
UPDATE tasks SET open_blockers = (
  SELECT COUNT(*) FROM edges e JOIN tasks n ON n.project = e.project AND n.slug = e.needs
  WHERE e.project = :project AND e.slug = :slug AND n.status NOT IN ('done', 'abandoned')), changed_at = :at
WHERE project = :project AND slug = :slug;

-- name: count_all_blockers
-- Count the open blockers of all tasks of a project again, after an import.
UPDATE tasks SET open_blockers = (
  SELECT COUNT(*) FROM edges e JOIN tasks n ON n.project = e.project AND n.slug = e.needs
  WHERE e.project = tasks.project AND e.slug = tasks.slug AND n.status NOT IN ('done', 'abandoned'))
WHERE project = :project AND slug IN (SELECT slug FROM edges WHERE project = :project);

-- name: miscounted
-- Tasks whose stored count of open blockers differs from their edges. There should be none.
-- returns: Miscount*
SELECT t.project, t.slug, t.open_blockers AS kept, COUNT(n.slug) AS counted
FROM tasks t
LEFT JOIN edges e ON e.project = t.project AND e.slug = t.slug
LEFT JOIN tasks n ON n.project = e.project AND n.slug = e.needs AND n.status NOT IN ('done', 'abandoned')
GROUP BY t.project, t.slug, t.open_blockers HAVING t.open_blockers <> COUNT(n.slug);

-- name: edit_task
-- Set the fields of a task that a person may change.
UPDATE tasks SET title = :title, description = :description, priority = :priority, not_before = :not_before,
                 verify = :verify, engine = :engine, model = :model, changed_at = :at
WHERE project = :project AND slug = :slug;

-- name: pause_task
-- Pause or unpause a task.
UPDATE tasks SET paused = :paused, changed_at = :at WHERE project = :project AND slug = :slug AND paused <> :paused;

-- name: archive_task
-- Archive an ended task: lists no longer show it.
UPDATE tasks SET archived = 1, changed_at = :at
WHERE project = :project AND slug = :slug AND archived = 0 AND status IN ('done', 'failed', 'abandoned');

-- name: archive_ended_tasks
-- Archive all tasks of a project that ended before a time.
UPDATE tasks SET archived = 1, changed_at = :at
WHERE project = :project AND archived = 0 AND job IS NULL AND status IN ('done', 'failed', 'abandoned') AND ended_at <= :before;

-- name: long_ended_tasks
-- Tasks that failed or were abandoned before a time and are not archived. Done tasks wait for their merge.
-- returns: LongEndedTask*
-- column: ended_at int
SELECT slug, status, ended_at FROM tasks
WHERE project = :project AND archived = 0 AND job IS NULL AND status IN ('failed', 'abandoned') AND ended_at <= :before
ORDER BY ended_at, slug;

-- name: archive_long_ended_task
-- Compare and set: archive a failed or abandoned task, unless it was opened again meanwhile or is an item of a job.
UPDATE tasks SET archived = 1, changed_at = :at
WHERE project = :project AND slug = :slug AND archived = 0 AND job IS NULL AND status IN ('failed', 'abandoned') AND ended_at <= :before;

-- name: add_log
-- module: hot
-- Add an entry to a task's log.
INSERT INTO task_log (project, slug, seq, at, actor, message)
VALUES (:project, :slug, :seq, :at, :actor, :message);

-- name: task_log
-- The log of a task, oldest first.
-- returns: LogEntry*
SELECT at, actor, message FROM task_log WHERE project = :project AND slug = :slug ORDER BY seq;

-- name: add_artifact
-- module: hot
-- Register an artifact of a task; nothing changes when it is registered already.
INSERT INTO artifacts (project, slug, path, at, actor) VALUES (:project, :slug, :path, :at, :actor)
ON CONFLICT DO NOTHING;

-- name: task_artifacts
-- The artifacts of a task.
-- returns: Artifact*
SELECT path, at, actor FROM artifacts WHERE project = :project AND slug = :slug ORDER BY path;

-- name: add_tag
-- Add a tag to a task.
INSERT INTO tags (project, slug, tag) VALUES (:project, :slug, :tag) ON CONFLICT DO NOTHING;

-- name: drop_tag
-- Remove a tag from a task.
DELETE FROM tags WHERE project = :project AND slug = :slug AND tag = :tag;

-- name: task_tags
-- The tags of a task.
-- returns: Tag*
SELECT tag FROM tags WHERE project = :project AND slug = :slug ORDER BY tag;

-- name: add_edge
-- Add a dependency: the task `slug` waits for the task `needs`.
INSERT INTO edges (project, slug, needs) VALUES (:project, :slug, :needs) ON CONFLICT DO NOTHING;

-- name: drop_edge
-- Remove a dependency.
DELETE FROM edges WHERE project = :project AND slug = :slug AND needs = :needs;

-- name: task_needs
-- The tasks that a task waits for, with their state.
-- returns: Need*
SELECT e.needs AS slug, n.title, n.status, n.assignee, n.reason, n.paused, n.not_before, n.open_blockers
FROM edges e JOIN tasks n ON n.project = e.project AND n.slug = e.needs
WHERE e.project = :project AND e.slug = :slug ORDER BY e.needs;

-- name: task_dependents
-- The tasks that wait for a task.
-- returns: Slug*
SELECT slug FROM edges WHERE project = :project AND needs = :slug ORDER BY slug;
