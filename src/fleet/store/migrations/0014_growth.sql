-- Indexes for the pages that people read all day: what is listed there is found in its order, and what is counted
-- is counted in an index, however many tasks there are.

DROP INDEX tasks_by_status;
CREATE INDEX tasks_by_status ON tasks (project, status, archived, job);
DROP INDEX tasks_ready;
CREATE INDEX tasks_ready ON tasks (project, priority DESC, added_at, slug, not_before, job)
  WHERE status = 'open' AND open_blockers = 0 AND paused = 0;
CREATE INDEX tasks_failed ON tasks (changed_at DESC, project, slug)
  WHERE status = 'failed' AND archived = 0 AND job IS NULL;
CREATE INDEX tasks_blocked ON tasks (changed_at DESC, project, slug, stage, assignee)
  WHERE status = 'blocked' AND job IS NULL;
CREATE INDEX tasks_early ON tasks (changed_at DESC, project, slug, not_before)
  WHERE status = 'open' AND job IS NULL AND not_before IS NOT NULL;
CREATE INDEX tasks_at_work ON tasks (started_at, project, slug, stage)
  WHERE status = 'in_progress' AND job IS NULL;
CREATE INDEX tasks_in_review ON tasks (priority DESC, changed_at, project, slug, status)
  WHERE stage = 'review' AND archived = 0 AND job IS NULL;
CREATE INDEX handoffs_parked ON handoffs (dispatch, parked_at) WHERE parked_at IS NOT NULL;
