-- name: add_project
-- Register a repository.
INSERT INTO projects (name, path, added_at) VALUES (:name, :path, :at) ON CONFLICT DO NOTHING;

-- name: project_by_name
-- One project.
-- returns: Project?
SELECT name, path, added_at FROM projects WHERE name = :name;

-- name: project_by_path
-- The project of a repository.
-- returns: Project?
SELECT name, path, added_at FROM projects WHERE path = :path;

-- name: all_projects
-- All projects by name.
-- returns: Project*
SELECT name, path, added_at FROM projects ORDER BY name;

-- name: setup_failure_of
-- Why the last setup of a worktree failed.
-- returns: SetupFailure?
SELECT setup_failure, setup_dispatch, setup_failed_at FROM projects WHERE name = :project AND setup_failure IS NOT NULL;

-- name: note_setup_failure
UPDATE projects SET setup_failure = :why, setup_dispatch = :dispatch, setup_failed_at = :at WHERE name = :project;

-- name: forget_setup_failure
-- A worktree was set up.
UPDATE projects SET setup_failure = NULL, setup_dispatch = NULL, setup_failed_at = NULL WHERE name = :project;

-- name: project_counts
-- How many tasks each project has in each status; archived ones apart.
-- returns: StatusCount*
SELECT project, status, archived, COUNT(*) AS n FROM tasks WHERE job IS NULL GROUP BY project, status, archived;

-- name: ready_counts
-- How many tasks of each project could be started now.
-- returns: ReadyCount*
SELECT project, COUNT(*) AS n FROM tasks
WHERE status = 'open' AND open_blockers = 0 AND paused = 0 AND job IS NULL AND (not_before IS NULL OR not_before <= :now)
GROUP BY project;

-- name: count_tasks
-- Tasks of a project, and how many of them are in progress.
-- returns: TaskCount!
SELECT COUNT(*) AS n, COALESCE(SUM(CASE WHEN status = 'in_progress' THEN 1 ELSE 0 END), 0) AS working
FROM tasks WHERE project = :project;

-- name: count_dispatches
-- Dispatches of a project that are still in the tables.
-- returns: Count!
SELECT COUNT(*) AS n FROM dispatches WHERE project = :project;

-- name: remove_log
DELETE FROM task_log WHERE project = :project;

-- name: remove_artifacts
DELETE FROM artifacts WHERE project = :project;

-- name: remove_tags
DELETE FROM tags WHERE project = :project;

-- name: remove_edges
DELETE FROM edges WHERE project = :project;

-- name: remove_verdicts
DELETE FROM verdicts WHERE project = :project;

-- name: remove_tasks
DELETE FROM tasks WHERE project = :project;

-- name: remove_seat
DELETE FROM seats WHERE project = :project;

-- name: remove_project
DELETE FROM projects WHERE name = :project;

-- name: remove_spawn_failures
DELETE FROM spawn_failures WHERE project = :project;

-- name: dispatch_counts
-- How many dispatches of each project are at work, and how many could not be reclaimed.
-- returns: DispatchCount*
-- column: active int
-- column: blocked int
SELECT project,
       SUM(CASE WHEN exec_state IN ('pending', 'in_flight') THEN 1 ELSE 0 END) AS active,
       SUM(CASE WHEN recl_state IN ('partial', 'blocked') THEN 1 ELSE 0 END) AS blocked
FROM dispatches GROUP BY project;

-- name: reclaim_trouble
-- Things that are still held although nobody needs them any more, counted by kind.
-- returns: ReclaimTrouble*
SELECT c.kind, COUNT(*) AS n FROM claims c
LEFT JOIN dispatches d ON d.id = c.dispatch
LEFT JOIN tasks t ON c.dispatch IS NULL AND t.project = c.project AND t.slug = c.slug
WHERE c.state <> 'released' AND (d.recl_state IN ('partial', 'blocked') OR t.archived = 1) AND c.kind <> 'worker_dir'
GROUP BY c.kind ORDER BY c.kind;
