-- name: add_merge
-- Record that a task's work was merged into the integration branch.
INSERT INTO merges (seq, project, slug, integration, made, work, base, at)
VALUES (:seq, :project, :slug, :integration, :made, :work, :base, :at) ON CONFLICT DO NOTHING;

-- name: recorded_merges
-- Merges into an integration branch, without those that a person acknowledged as missing, newest first.
-- returns: Merge*
SELECT * FROM merges WHERE project = :project AND integration = :integration AND acknowledged_at IS NULL ORDER BY seq DESC;

-- name: all_merges
-- All recorded merges into an integration branch, newest first.
-- returns: Merge*
SELECT * FROM merges WHERE project = :project AND integration = :integration ORDER BY seq DESC;

-- name: newest_merge
-- The newest recorded merge that no person has acknowledged as missing.
-- returns: Merge?
SELECT * FROM merges WHERE project = :project AND integration = :integration AND acknowledged_at IS NULL
ORDER BY seq DESC LIMIT 1;

-- name: acknowledge_merge
-- Compare and set: record that a person knows that a merge is missing from the branch, and why.
UPDATE merges SET acknowledged_at = :at, acknowledged_by = :by, reason = :reason
WHERE seq = :seq AND acknowledged_at IS NULL;

-- name: remove_merges
-- Delete the recorded merges of a project that is removed. Its integration branch stays.
DELETE FROM merges WHERE project = :project;

-- name: known_work
-- Whether a commit was reported, settled or reviewed as the work of a task.
-- returns: Existence?
SELECT 1 AS yes FROM tasks WHERE project = :project AND slug = :slug AND work = :work
UNION ALL
SELECT 1 AS yes FROM verdicts WHERE project = :project AND slug = :slug AND work = :work
UNION ALL
SELECT 1 AS yes FROM dispatches WHERE project = :project AND slug = :slug AND (reported_commit = :work OR settled_commit = :work)
LIMIT 1;
