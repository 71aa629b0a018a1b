-- name: add_merge
-- A task's work was merged into the integration branch.
INSERT INTO merges (seq, project, slug, integration, made, work, base, at)
VALUES (:seq, :project, :slug, :integration, :made, :work, :base, :at) ON CONFLICT DO NOTHING;

-- name: recorded_merges
-- Every merge into an integration branch that nobody has given up, newest first.
-- returns: Merge*
SELECT * FROM merges WHERE project = :project AND integration = :integration AND acknowledged_at IS NULL ORDER BY seq DESC;

-- name: all_merges
-- Every merge into an integration branch, newest first.
-- returns: Merge*
SELECT * FROM merges WHERE project = :project AND integration = :integration ORDER BY seq DESC;

-- name: newest_merge
-- The merge that was recorded last, of those that nobody has given up.
-- returns: Merge?
SELECT * FROM merges WHERE project = :project AND integration = :integration AND acknowledged_at IS NULL
ORDER BY seq DESC LIMIT 1;

-- name: acknowledge_merge
-- A person says that a merge is gone from the branch, and why.
UPDATE merges SET acknowledged_at = :at, acknowledged_by = :by, reason = :reason
WHERE seq = :seq AND acknowledged_at IS NULL;

-- name: remove_merges
-- The merges of a project that is removed. Its integration branch stays.
DELETE FROM merges WHERE project = :project;

-- name: known_work
-- Whether a commit was reported, settled or judged as the work of a task.
-- returns: Existence?
SELECT 1 AS yes FROM tasks WHERE project = :project AND slug = :slug AND work = :work
UNION ALL
SELECT 1 AS yes FROM verdicts WHERE project = :project AND slug = :slug AND work = :work
UNION ALL
SELECT 1 AS yes FROM dispatches WHERE project = :project AND slug = :slug AND (reported_commit = :work OR settled_commit = :work)
LIMIT 1;
