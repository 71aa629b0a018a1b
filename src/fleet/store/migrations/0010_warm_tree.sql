-- A claim may also belong to a project alone: the tree in which its work is merged and verified, kept between merges.
-- SQLite cannot change a check, so the table is made anew.
CREATE TABLE claims_new (
  id TEXT PRIMARY KEY,
  dispatch TEXT REFERENCES dispatches (id),
  project TEXT,
  slug TEXT,
  job TEXT REFERENCES jobs (id),
  host TEXT NOT NULL,
  home TEXT,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  state TEXT NOT NULL DEFAULT 'allocating'
    CHECK (state IN ('allocating', 'live', 'releasing', 'releasing_blocked', 'released', 'failed_alloc')),
  actor TEXT NOT NULL,
  effect_lock TEXT,
  data TEXT NOT NULL DEFAULT '{}',
  failures INTEGER NOT NULL DEFAULT 0 CHECK (failures >= 0),
  failed_at INTEGER,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  -- It belongs to a dispatch, to a task's bundle, to a job, or to a project alone.
  CHECK ((dispatch IS NOT NULL AND slug IS NULL AND job IS NULL) OR (dispatch IS NULL AND slug IS NOT NULL AND job IS NULL)
      OR (dispatch IS NULL AND slug IS NULL AND job IS NOT NULL)
      OR (dispatch IS NULL AND slug IS NULL AND job IS NULL AND project IS NOT NULL))
) STRICT;
INSERT INTO claims_new (id, dispatch, project, slug, job, host, home, kind, name, state, actor, effect_lock, data, failures,
                        failed_at, created_at, updated_at)
SELECT id, dispatch, project, slug, job, host, home, kind, name, state, actor, effect_lock, data, failures,
       failed_at, created_at, updated_at FROM claims;
DROP TABLE claims;
ALTER TABLE claims_new RENAME TO claims;
CREATE UNIQUE INDEX claims_one_holder ON claims (host, kind, name)
  WHERE state IN ('allocating', 'live', 'releasing', 'releasing_blocked');
CREATE INDEX claims_by_dispatch ON claims (dispatch) WHERE dispatch IS NOT NULL;
CREATE INDEX claims_by_bundle ON claims (project, slug) WHERE slug IS NOT NULL;
CREATE INDEX claims_by_job ON claims (job) WHERE job IS NOT NULL;
