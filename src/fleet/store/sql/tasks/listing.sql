-- name: ready_tasks
-- Tasks of a project that could be started now: most urgent first, then oldest.
-- returns: ListedTask*
SELECT project, slug, title, status, stage, priority, paused, archived, not_before, engine, model, assignee, attempts, reason,
       open_blockers, added_at, changed_at
FROM tasks
WHERE project = :project AND status = 'open' AND open_blockers = 0 AND paused = 0 AND job IS NULL
  AND (not_before IS NULL OR not_before <= :now)
ORDER BY project, priority DESC, added_at, slug LIMIT :most;

-- name: listed_tasks
-- Tasks of a project that match every given filter, by slug, one page at a time.
-- returns: ListedTask*
SELECT t.project, t.slug, t.title, t.status, t.stage, t.priority, t.paused, t.archived, t.not_before, t.engine, t.model, t.assignee,
       t.attempts, t.reason, t.open_blockers, t.added_at, t.changed_at
FROM tasks t
WHERE t.project = :project AND t.slug > :after_slug AND t.job IS NULL
  AND (CAST(:status AS TEXT) IS NULL OR t.status = :status)
  AND (CAST(:assignee AS TEXT) IS NULL OR t.assignee = :assignee)
  AND (:archived = 1 OR t.archived = 0)
  AND (CAST(:text AS TEXT) IS NULL OR LOWER(t.title) LIKE :text ESCAPE '!' OR LOWER(t.description) LIKE :text ESCAPE '!'
       OR t.slug LIKE :text ESCAPE '!')
  AND (CAST(:tag AS TEXT) IS NULL OR EXISTS (
        SELECT 1 FROM tags g WHERE g.project = t.project AND g.slug = t.slug AND g.tag = :tag))
ORDER BY t.slug LIMIT :most;

-- name: project_edges
-- All dependencies of a project.
-- returns: Edge*
SELECT slug, needs FROM edges WHERE project = :project ORDER BY slug, needs;

-- name: edges_from
-- The dependencies of a page of tasks, without dependencies on the tasks of jobs, which belong to no page.
-- returns: Edge*
SELECT e.slug, e.needs FROM edges e JOIN tasks t ON t.project = e.project AND t.slug = e.needs
WHERE e.project = :project AND e.slug > :after_slug AND e.slug <= :until_slug AND t.job IS NULL ORDER BY e.slug, e.needs;

-- name: tags_from
-- The tags of a page of tasks.
-- returns: TaskTag*
SELECT slug, tag FROM tags WHERE project = :project AND slug > :after_slug AND slug <= :until_slug ORDER BY slug, tag;

-- name: log_from
-- The log entries of a page of tasks.
-- returns: TaskLogEntry*
SELECT slug, at, actor, message FROM task_log
WHERE project = :project AND slug > :after_slug AND slug <= :until_slug ORDER BY slug, seq;

-- name: artifacts_from
-- The artifacts of a page of tasks.
-- returns: TaskArtifact*
SELECT slug, path, at, actor FROM artifacts
WHERE project = :project AND slug > :after_slug AND slug <= :until_slug ORDER BY slug, path;

-- name: page_of_tasks
-- Tasks with their texts and times, by slug, one page at a time.
-- returns: WholeTask*
SELECT project, slug, title, description, status, stage, priority, paused, archived, not_before, verify, engine, model, assignee,
       attempts, reason, open_blockers, added_at, changed_at, started_at, ended_at, merged
FROM tasks WHERE project = :project AND slug > :after_slug AND job IS NULL AND (:archived = 1 OR archived = 0) ORDER BY slug LIMIT :most;

-- name: slugs_like
-- Slugs that begin with a text, for shell completion.
-- returns: SlugWithTitle*
SELECT slug, title FROM tasks
WHERE project = :project AND slug >= :prefix AND slug < :beyond AND archived = 0 AND job IS NULL ORDER BY slug LIMIT :most;

-- name: task_whole
-- One task with its texts and times.
-- returns: WholeTask?
SELECT project, slug, title, description, status, stage, priority, paused, archived, not_before, verify, engine, model, assignee,
       attempts, reason, open_blockers, added_at, changed_at, started_at, ended_at, merged
FROM tasks WHERE project = :project AND slug = :slug;

-- name: ancestors
-- The edges of everything that a task depends on, directly or indirectly.
-- returns: Edge*
WITH RECURSIVE above (slug) AS (
  SELECT needs FROM edges WHERE project = :project AND slug = :slug
  UNION
  SELECT e.needs FROM edges e JOIN above a ON e.slug = a.slug WHERE e.project = :project
)
SELECT slug, needs FROM edges
WHERE project = :project AND (slug = :slug OR slug IN (SELECT slug FROM above)) ORDER BY slug, needs;
