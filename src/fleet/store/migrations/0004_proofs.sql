-- Proofs: which commit was reported, reviewed and merged; which home a dispatch, claim or job belongs to; what was put aside.

-- Fleet homes that have used this database. A home judges and touches only what is its own.
CREATE TABLE homes (
  id TEXT PRIMARY KEY,
  -- The host id that the home keeps, and the machine's own id beside it.
  host TEXT NOT NULL,
  machine TEXT NOT NULL,
  name TEXT NOT NULL,
  path TEXT NOT NULL,
  seen_at INTEGER NOT NULL
) STRICT;

-- The home that made it; missing in rows from before this column was there.
ALTER TABLE dispatches ADD COLUMN home TEXT;
ALTER TABLE jobs ADD COLUMN home TEXT;
-- The commit of the task's branch when the agent reported, and when its dispatch was settled.
ALTER TABLE dispatches ADD COLUMN reported_commit TEXT;
ALTER TABLE dispatches ADD COLUMN settled_commit TEXT;
-- Processes that descended from the agent while it lived, as a JSON list of host/boot/pid/start.
ALTER TABLE dispatches ADD COLUMN descendants TEXT NOT NULL DEFAULT '[]';

-- The commit that a task's work is at: what review, verify and merge speak of.
ALTER TABLE tasks ADD COLUMN work TEXT;
-- The commit that a verdict speaks of.
ALTER TABLE verdicts ADD COLUMN work TEXT;

-- Every merge into an integration branch: the merge commit, the task's commit and the tip before, all in the new commit.
CREATE TABLE merges (
  seq INTEGER PRIMARY KEY,
  project TEXT NOT NULL,
  slug TEXT NOT NULL,
  integration TEXT NOT NULL,
  made TEXT NOT NULL,
  work TEXT NOT NULL,
  base TEXT NOT NULL,
  at INTEGER NOT NULL,
  -- A person has said that it is gone from the branch, and why that is right.
  acknowledged_at INTEGER,
  acknowledged_by TEXT,
  reason TEXT
) STRICT;
CREATE INDEX merges_of_project ON merges (project, integration, seq);
-- What was merged last before merges were recorded: it contains all merges before it.
INSERT INTO merges (seq, project, slug, integration, made, work, base, at)
SELECT -COUNT(o.slug) - 1, t.project, t.slug, 'fleet/main', t.merged, t.merged, t.merged, t.merged_at
FROM tasks t LEFT JOIN tasks o ON o.merged IS NOT NULL AND o.job IS NULL
  AND (o.project < t.project OR (o.project = t.project AND o.slug < t.slug))
WHERE t.merged IS NOT NULL AND t.merged_at IS NOT NULL AND t.job IS NULL AND t.pull_request IS NULL
  AND NOT EXISTS (SELECT 1 FROM tasks n WHERE n.project = t.project AND n.job IS NULL AND n.pull_request IS NULL
                  AND n.merged IS NOT NULL AND n.merged_at > t.merged_at)
GROUP BY t.project, t.slug, t.merged, t.merged_at;

-- A claim may also belong to a job: a command that its runner started. SQLite cannot change a check, so the table is made anew.
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
  -- It belongs to a dispatch, to a task's bundle, or to a job.
  CHECK ((dispatch IS NOT NULL AND slug IS NULL AND job IS NULL) OR (dispatch IS NULL AND slug IS NOT NULL AND job IS NULL)
      OR (dispatch IS NULL AND slug IS NULL AND job IS NOT NULL))
) STRICT;
INSERT INTO claims_new (id, dispatch, project, slug, host, kind, name, state, actor, effect_lock, data, failures, failed_at,
                        created_at, updated_at)
SELECT id, dispatch, project, slug, host, kind, name, state, actor, effect_lock, data, failures, failed_at,
       created_at, updated_at FROM claims;
DROP TABLE claims;
ALTER TABLE claims_new RENAME TO claims;
CREATE UNIQUE INDEX claims_one_holder ON claims (host, kind, name)
  WHERE state IN ('allocating', 'live', 'releasing', 'releasing_blocked');
CREATE INDEX claims_by_dispatch ON claims (dispatch) WHERE dispatch IS NOT NULL;
CREATE INDEX claims_by_bundle ON claims (project, slug) WHERE slug IS NOT NULL;
CREATE INDEX claims_by_job ON claims (job) WHERE job IS NOT NULL;

-- What was put aside instead of being deleted: ignored files of worktrees, which git cannot bring back.
CREATE TABLE trash (
  id TEXT PRIMARY KEY,
  project TEXT NOT NULL,
  slug TEXT NOT NULL,
  -- The claim of the worktree. While it is open, the files may have to go back.
  claim TEXT NOT NULL,
  home TEXT,
  -- The folder below the home, and the worktree that its files are from.
  name TEXT NOT NULL,
  path TEXT NOT NULL,
  why TEXT NOT NULL,
  files INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  at INTEGER NOT NULL,
  -- When all files were there; missing while they are being moved.
  moved_at INTEGER,
  -- When it may be deleted, and when it was deleted or went back.
  until INTEGER NOT NULL,
  gone_at INTEGER
) STRICT;
CREATE INDEX trash_kept ON trash (until) WHERE gone_at IS NULL;
CREATE INDEX trash_of_claim ON trash (claim) WHERE gone_at IS NULL;
