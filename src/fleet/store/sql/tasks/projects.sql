-- name: add_project
-- Register a repository.
INSERT INTO projects (name, path, added_at) VALUES (:name, :path, :at) ON CONFLICT DO NOTHING;

-- name: project_by_name
-- A project by its name.
-- returns: Project?
SELECT name, path, added_at FROM projects WHERE name = :name;

-- name: project_by_path
-- The project whose repository is at a path.
-- returns: Project?
SELECT name, path, added_at FROM projects WHERE path = :path;

-- name: all_projects
-- All projects, by name.
-- returns: Project*
SELECT name, path, added_at FROM projects ORDER BY name;

-- name: setup_failure_of
-- Why the last setup of a project's worktree failed; no row when it succeeded.
-- returns: SetupFailure?
SELECT setup_failure, setup_dispatch, setup_failed_at FROM projects WHERE name = :project AND setup_failure IS NOT NULL;

-- name: note_setup_failure
-- Record that the setup of a project's worktree failed.
UPDATE projects SET setup_failure = :why, setup_dispatch = :dispatch, setup_failed_at = :at WHERE name = :project;

-- name: forget_setup_failure
-- Clear the recorded failure, because the setup of a worktree succeeded.
UPDATE projects SET setup_failure = NULL, setup_dispatch = NULL, setup_failed_at = NULL WHERE name = :project;

-- name: project_counts
-- How many tasks each project has in each status, with archived ones counted apart.
-- returns: StatusCount*
SELECT project, status, archived, COUNT(*) AS n FROM tasks WHERE job IS NULL GROUP BY project, status, archived;

-- name: ready_counts
-- How many tasks of each project could be started now.
-- returns: ReadyCount*
SELECT project, COUNT(*) AS n FROM tasks
WHERE status = 'open' AND open_blockers = 0 AND paused = 0 AND job IS NULL AND (not_before IS NULL OR not_before <= :now)
GROUP BY project;

-- name: count_tasks
-- How many tasks a project has, how many of them do not belong to a job, and how many are in progress.
-- returns: TaskCount!
SELECT COUNT(*) AS n, COALESCE(SUM(CASE WHEN job IS NULL THEN 1 ELSE 0 END), 0) AS own,
  COALESCE(SUM(CASE WHEN status = 'in_progress' THEN 1 ELSE 0 END), 0) AS working
FROM tasks WHERE project = :project;

-- name: count_dispatches
-- How many dispatches of a project are still in the tables.
-- returns: Count!
SELECT COUNT(*) AS n FROM dispatches WHERE project = :project;

-- name: remove_log
-- Delete the log entries of a project's tasks.
DELETE FROM task_log WHERE project = :project;

-- name: remove_artifacts
-- Delete the artifacts of a project's tasks.
DELETE FROM artifacts WHERE project = :project;

-- name: remove_tags
-- Delete the tags of a project's tasks.
DELETE FROM tags WHERE project = :project;

-- name: remove_edges
-- Delete the dependencies between a project's tasks.
DELETE FROM edges WHERE project = :project;

-- name: remove_verdicts
-- Delete the verdicts on a project's tasks.
DELETE FROM verdicts WHERE project = :project;

-- name: remove_tasks
-- Delete the tasks of a project.
DELETE FROM tasks WHERE project = :project;

-- name: remove_seat
-- Delete the seat of a project.
DELETE FROM seats WHERE project = :project;

-- name: remove_project
-- Delete a project.
DELETE FROM projects WHERE name = :project;

-- name: remove_spawn_failures
-- Delete the recorded failed starts of a project.
DELETE FROM spawn_failures WHERE project = :project;

-- name: dispatch_counts
-- For each project: how many dispatches are unfinished, and how many have a claim that could not be released.
-- returns: DispatchCount*
-- column: active int
-- column: blocked int
SELECT project,
       SUM(CASE WHEN exec_state IN ('pending', 'in_flight') THEN 1 ELSE 0 END) AS active,
       SUM(CASE WHEN recl_state IN ('partial', 'blocked') THEN 1 ELSE 0 END) AS blocked
FROM dispatches GROUP BY project;

-- name: reclaim_trouble
-- Unreleased claims that nobody needs any more, counted by kind; worker directories are not counted.
-- returns: ReclaimTrouble*
SELECT c.kind, COUNT(*) AS n FROM claims c
LEFT JOIN dispatches d ON d.id = c.dispatch
LEFT JOIN tasks t ON c.dispatch IS NULL AND t.project = c.project AND t.slug = c.slug
WHERE c.state <> 'released' AND (d.recl_state IN ('partial', 'blocked') OR t.archived = 1) AND c.kind <> 'worker_dir'
GROUP BY c.kind ORDER BY c.kind;
