-- name: add_task
-- A new task. Its count of open blockers is set once its edges are there.
INSERT INTO tasks (project, slug, title, description, status, priority, paused, archived, not_before, verify, engine, model,
                   assignee, attempts, reason, open_blockers, added_at, changed_at, started_at, ended_at)
VALUES (:project, :slug, :title, :description, :status, :priority, :paused, :archived, :not_before, :verify, :engine, :model,
        :assignee, :attempts, :reason, :open_blockers, :added_at, :changed_at, :started_at, :ended_at)
ON CONFLICT DO NOTHING;

-- name: task_exists
-- Whether a slug is taken.
-- returns: Existence?
SELECT 1 AS yes FROM tasks WHERE project = :project AND slug = :slug;

-- name: task_state
-- module: hot
-- What the table of steps and the fence need to know of a task, and whether somebody is at work on it.
-- returns: TaskState?
SELECT status, stage, assignee, archived, paused, not_before, open_blockers, started_at, attempts, fixes, merged, work,
       left_uncommitted, EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug
               AND d.exec_state IN ('pending', 'in_flight')) AS attempted
FROM tasks WHERE project = :project AND slug = :slug;

-- name: task_called
-- Whether a task of any project is called so.
-- returns: Slug?
SELECT slug FROM tasks WHERE slug = :slug LIMIT 1;

-- name: claim_task
-- module: hot
-- Compare and set: only a ready task, only by one.
UPDATE tasks SET status = :after, assignee = :actor, attempts = attempts + 1, reason = NULL,
                 started_at = :at, ended_at = NULL, changed_at = :at
WHERE project = :project AND slug = :slug AND status = 'open' AND paused = 0 AND open_blockers = 0
  AND (not_before IS NULL OR not_before <= :at);

-- name: claim_task_all_the_same
-- A person claims an open task that is not ready.
UPDATE tasks SET status = :after, assignee = :actor, attempts = attempts + 1, reason = NULL,
                 started_at = :at, ended_at = NULL, changed_at = :at
WHERE project = :project AND slug = :slug AND status = 'open';

-- name: end_task
-- module: reports
-- A report or a person's word, fenced by the status and assignee it was decided on; done speaks of the commit that is there.
UPDATE tasks SET status = :status, assignee = :assignee, reason = :reason, work = COALESCE(CAST(:work AS TEXT), work),
                 ended_at = :at, changed_at = :at
WHERE project = :project AND slug = :slug AND status = :was
  AND COALESCE(assignee, '') = COALESCE(CAST(:was_assignee AS TEXT), '');

-- name: leave_uncommitted
-- module: reports
-- Why the agent that reported the task left changes uncommitted; nothing when it left none.
UPDATE tasks SET left_uncommitted = :reason
WHERE project = :project AND slug = :slug AND COALESCE(left_uncommitted, '') <> COALESCE(CAST(:reason AS TEXT), '');

-- name: reopen_task
-- Back to open, with nobody on it. What was blocked or failed goes on at its stage, and may be mended as often as a new one;
-- anything else begins anew. The commit of its work is forgotten, unless somebody accepted it.
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
-- A dependency was satisfied (-1) or is open again (+1): tell those who wait for it.
UPDATE tasks SET open_blockers = open_blockers + :change
WHERE project = :project AND slug IN (SELECT slug FROM edges WHERE project = :project AND needs = :slug);

-- name: freed_by
-- module: reports
-- Open tasks that waited for this one and for no other any more. Whether they are held back otherwise is told, not asked: with
-- more conditions SQLite would go through all ready tasks instead of the few that waited.
-- returns: FreedTask*
SELECT t.slug, t.paused, t.not_before FROM edges e JOIN tasks t ON t.project = e.project AND t.slug = e.slug
WHERE e.project = :project AND e.needs = :slug AND t.status = 'open' AND t.open_blockers = 0
ORDER BY t.priority DESC, t.added_at, t.slug LIMIT :most;

-- name: count_blockers
-- Count a task's open blockers anew, after its edges changed.
UPDATE tasks SET open_blockers = (
  SELECT COUNT(*) FROM edges e JOIN tasks n ON n.project = e.project AND n.slug = e.needs
  WHERE e.project = :project AND e.slug = :slug AND n.status NOT IN ('done', 'abandoned')), changed_at = :at
WHERE project = :project AND slug = :slug;

-- name: count_all_blockers
-- Count every task's open blockers anew, after an import.
UPDATE tasks SET open_blockers = (
  SELECT COUNT(*) FROM edges e JOIN tasks n ON n.project = e.project AND n.slug = e.needs
  WHERE e.project = tasks.project AND e.slug = tasks.slug AND n.status NOT IN ('done', 'abandoned'))
WHERE project = :project AND slug IN (SELECT slug FROM edges WHERE project = :project);

-- name: miscounted
-- Tasks whose count of open blockers is not what their edges say. There should be none.
-- returns: Miscount*
SELECT t.project, t.slug, t.open_blockers AS kept, COUNT(n.slug) AS counted
FROM tasks t
LEFT JOIN edges e ON e.project = t.project AND e.slug = t.slug
LEFT JOIN tasks n ON n.project = e.project AND n.slug = e.needs AND n.status NOT IN ('done', 'abandoned')
GROUP BY t.project, t.slug, t.open_blockers HAVING t.open_blockers <> COUNT(n.slug);

-- name: edit_task
-- The fields a person may change.
UPDATE tasks SET title = :title, description = :description, priority = :priority, not_before = :not_before,
                 verify = :verify, engine = :engine, model = :model, changed_at = :at
WHERE project = :project AND slug = :slug;

-- name: pause_task
-- Hold a task back, or let it go on.
UPDATE tasks SET paused = :paused, changed_at = :at WHERE project = :project AND slug = :slug AND paused <> :paused;

-- name: archive_task
-- Put an ended task out of sight.
UPDATE tasks SET archived = 1, changed_at = :at
WHERE project = :project AND slug = :slug AND archived = 0 AND status IN ('done', 'failed', 'abandoned');

-- name: archive_ended_tasks
-- Put every task that ended before a time out of sight.
UPDATE tasks SET archived = 1, changed_at = :at
WHERE project = :project AND archived = 0 AND job IS NULL AND status IN ('done', 'failed', 'abandoned') AND ended_at <= :before;

-- name: long_ended_tasks
-- Tasks that failed or were abandoned before a time and are still in sight. Done ones wait for their merge.
-- returns: LongEndedTask*
-- column: ended_at int
SELECT slug, status, ended_at FROM tasks
WHERE project = :project AND archived = 0 AND job IS NULL AND status IN ('failed', 'abandoned') AND ended_at <= :before
ORDER BY ended_at, slug;

-- name: archive_long_ended_task
-- Compare and set: put one of them out of sight, unless it was taken up again meanwhile.
UPDATE tasks SET archived = 1, changed_at = :at
WHERE project = :project AND slug = :slug AND archived = 0 AND status IN ('failed', 'abandoned') AND ended_at <= :before;

-- name: add_log
-- module: hot
-- One message.
INSERT INTO task_log (project, slug, seq, at, actor, message)
VALUES (:project, :slug, :seq, :at, :actor, :message);

-- name: task_log
-- What was said, oldest first.
-- returns: LogEntry*
SELECT at, actor, message FROM task_log WHERE project = :project AND slug = :slug ORDER BY seq;

-- name: add_artifact
-- module: hot
-- A path that a task made. The same again is fine.
INSERT INTO artifacts (project, slug, path, at, actor) VALUES (:project, :slug, :path, :at, :actor)
ON CONFLICT DO NOTHING;

-- name: task_artifacts
-- What a task made.
-- returns: Artifact*
SELECT path, at, actor FROM artifacts WHERE project = :project AND slug = :slug ORDER BY path;

-- name: add_tag
INSERT INTO tags (project, slug, tag) VALUES (:project, :slug, :tag) ON CONFLICT DO NOTHING;

-- name: drop_tag
DELETE FROM tags WHERE project = :project AND slug = :slug AND tag = :tag;

-- name: task_tags
-- returns: Tag*
SELECT tag FROM tags WHERE project = :project AND slug = :slug ORDER BY tag;

-- name: add_edge
-- slug waits for needs.
INSERT INTO edges (project, slug, needs) VALUES (:project, :slug, :needs) ON CONFLICT DO NOTHING;

-- name: drop_edge
DELETE FROM edges WHERE project = :project AND slug = :slug AND needs = :needs;

-- name: task_needs
-- What a task waits for, and how far that is.
-- returns: Need*
SELECT e.needs AS slug, n.title, n.status, n.assignee, n.reason, n.paused, n.not_before, n.open_blockers
FROM edges e JOIN tasks n ON n.project = e.project AND n.slug = e.needs
WHERE e.project = :project AND e.slug = :slug ORDER BY e.needs;

-- name: task_dependents
-- Who waits for a task.
-- returns: Slug*
SELECT slug FROM edges WHERE project = :project AND needs = :slug ORDER BY slug;
