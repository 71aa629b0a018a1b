-- name: usage_file
-- How far a conversation's file was read.
-- returns: UsageFile?
SELECT * FROM usage_files WHERE path = :path;

-- name: begin_usage_file
-- Record a conversation's file, of which nothing was read yet.
INSERT INTO usage_files (path, position, at) VALUES (:path, 0, :at) ON CONFLICT DO NOTHING;

-- name: move_usage_file
-- Compare and set: record how far a conversation's file was read, so that only one of two readers counts the same records.
UPDATE usage_files SET position = :position, model = :model, record = :record, input = :input, output = :output,
                       cache_read = :cache_read, cache_write = :cache_write, at = :at
WHERE path = :path AND position = :was;

-- name: forget_usage_file
-- Delete the reading position of a path, or the row that stands for an agent's search for its conversation.
DELETE FROM usage_files WHERE path = :path;

-- name: add_usage
-- Add the tokens of some records to those counted before.
INSERT INTO usage (dispatch, model, day, project, slug, input, output, cache_read, cache_write, cost, unpriced, at)
VALUES (:dispatch, :model, :day, :project, :slug, :input, :output, :cache_read, :cache_write, :cost, :unpriced, :at)
ON CONFLICT (dispatch, model, day) DO UPDATE SET
  input = usage.input + excluded.input, output = usage.output + excluded.output,
  cache_read = usage.cache_read + excluded.cache_read, cache_write = usage.cache_write + excluded.cache_write,
  cost = usage.cost + excluded.cost, unpriced = usage.unpriced + excluded.unpriced, at = excluded.at;

-- name: used_by_dispatch
-- What each of the unfinished dispatches has used.
-- returns: DispatchUsage*
-- column: tokens int
-- column: cost int
-- column: unpriced int
SELECT u.dispatch, CAST(SUM(u.input + u.output + u.cache_read + u.cache_write) AS BIGINT) AS tokens,
       CAST(SUM(u.cost) AS BIGINT) AS cost, CAST(SUM(u.unpriced) AS BIGINT) AS unpriced
FROM usage u JOIN dispatches d ON d.id = u.dispatch
WHERE d.exec_state IN ('pending', 'in_flight') GROUP BY u.dispatch;

-- name: used_by_task
-- What all attempts at a task have used.
-- returns: Used!
-- column: tokens int
-- column: cost int
-- column: unpriced int
SELECT CAST(COALESCE(SUM(input + output + cache_read + cache_write), 0) AS BIGINT) AS tokens,
       CAST(COALESCE(SUM(cost), 0) AS BIGINT) AS cost, CAST(COALESCE(SUM(unpriced), 0) AS BIGINT) AS unpriced
FROM usage WHERE project = :project AND slug = :slug;

-- name: used_before_handoffs
-- What the agents of a task for which a handoff was requested have used; a queued handoff counts, too.
-- returns: Used!
-- column: tokens int
-- column: cost int
-- column: unpriced int
SELECT CAST(COALESCE(SUM(input + output + cache_read + cache_write), 0) AS BIGINT) AS tokens,
       CAST(COALESCE(SUM(cost), 0) AS BIGINT) AS cost, CAST(COALESCE(SUM(unpriced), 0) AS BIGINT) AS unpriced
FROM usage WHERE dispatch IN (SELECT dispatch FROM handoffs WHERE project = :project AND slug = :slug);

-- name: used_by_project
-- What all agents of a project have used, its coordinators and jobs too.
-- returns: Used!
-- column: tokens int
-- column: cost int
-- column: unpriced int
SELECT CAST(COALESCE(SUM(input + output + cache_read + cache_write), 0) AS BIGINT) AS tokens,
       CAST(COALESCE(SUM(cost), 0) AS BIGINT) AS cost, CAST(COALESCE(SUM(unpriced), 0) AS BIGINT) AS unpriced
FROM usage WHERE project = :project;

-- name: used_on_day
-- What all agents have used on a day.
-- returns: Used!
-- column: tokens int
-- column: cost int
-- column: unpriced int
SELECT CAST(COALESCE(SUM(input + output + cache_read + cache_write), 0) AS BIGINT) AS tokens,
       CAST(COALESCE(SUM(cost), 0) AS BIGINT) AS cost, CAST(COALESCE(SUM(unpriced), 0) AS BIGINT) AS unpriced
FROM usage WHERE day = :day;

-- name: used_by_agents_since
-- What each agent has used whose tokens were counted since a time.
-- returns: DispatchUsage*
-- column: tokens int
-- column: cost int
-- column: unpriced int
SELECT dispatch, CAST(SUM(input + output + cache_read + cache_write) AS BIGINT) AS tokens,
       CAST(SUM(cost) AS BIGINT) AS cost, CAST(SUM(unpriced) AS BIGINT) AS unpriced
FROM usage WHERE at >= :since AND (CAST(:project AS TEXT) IS NULL OR project = :project) GROUP BY dispatch;

-- name: allowance_of
-- How much a person has allowed beyond a budget.
-- returns: Allowance?
SELECT cost FROM allowances WHERE scope = :scope AND name = :name;

-- name: allow_cost
-- Allow more beyond a budget, in addition to what was allowed before.
INSERT INTO allowances (scope, name, cost, at) VALUES (:scope, :name, :cost, :at)
ON CONFLICT (scope, name) DO UPDATE SET cost = allowances.cost + excluded.cost, at = excluded.at;
