-- Jobs: a workflow mapped over items, with setup before and reduce after them.

-- Ids are given out with those of dispatches, so that an id means one thing.
CREATE TABLE jobs (
  id TEXT PRIMARY KEY REFERENCES ids (id),
  project TEXT NOT NULL REFERENCES projects (name),
  name TEXT NOT NULL,
  -- The document itself, and the directory it was read in: a resume needs no file.
  source TEXT NOT NULL,
  folder TEXT NOT NULL,
  -- A JSON object: what {env.NAME} stands for.
  parameters TEXT NOT NULL DEFAULT '{}',
  state TEXT NOT NULL DEFAULT 'running' CHECK (state IN ('running', 'paused', 'failed', 'done', 'cancelled')),
  phase TEXT NOT NULL DEFAULT 'setup' CHECK (phase IN ('setup', 'map', 'reduce', 'over')),
  reason TEXT,
  actor TEXT NOT NULL,
  added_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  -- When the runner that has it now, or had it last, began.
  begun_at INTEGER NOT NULL,
  ended_at INTEGER
) STRICT;
CREATE INDEX jobs_by_age ON jobs (added_at);

-- Items have ids from their content. Setup and reduce are worked on as items are, one of each.
CREATE TABLE items (
  job TEXT NOT NULL REFERENCES jobs (id),
  id TEXT NOT NULL,
  part TEXT NOT NULL CHECK (part IN ('setup', 'map', 'reduce')),
  number INTEGER NOT NULL,
  data TEXT NOT NULL,
  state TEXT NOT NULL DEFAULT 'waiting'
    CHECK (state IN ('waiting', 'running', 'merging', 'done', 'dead', 'skipped', 'parked')),
  attempts INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
  -- Failures since it was last put into the queue: those that count for the next retry.
  failures INTEGER NOT NULL DEFAULT 0 CHECK (failures >= 0),
  not_before INTEGER,
  dispatch TEXT,
  -- What the steps of this attempt came to; an attempt that ends without it was interrupted.
  verdict TEXT CHECK (verdict IN ('passed', 'failed')),
  reason TEXT,
  signature TEXT,
  failed_at INTEGER,
  merged TEXT,
  started_at INTEGER,
  ended_at INTEGER,
  -- A JSON list: every failure, oldest first.
  history TEXT NOT NULL DEFAULT '[]',
  PRIMARY KEY (job, id)
) STRICT;
CREATE INDEX items_waiting ON items (job, number) WHERE state = 'waiting';
CREATE INDEX items_at_work ON items (job, number) WHERE state IN ('running', 'merging');
CREATE INDEX items_by_state ON items (job, part, state);

-- What each step of each attempt came to. Its output is in a file of the home.
CREATE TABLE job_steps (
  job TEXT NOT NULL,
  item TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  number INTEGER NOT NULL,
  title TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  ended_at INTEGER NOT NULL,
  -- Missing when it was killed, or could not be started.
  status INTEGER,
  reason TEXT,
  -- A JSON list of the commits it made, oldest first.
  commits TEXT NOT NULL DEFAULT '[]',
  PRIMARY KEY (job, item, attempt, number),
  FOREIGN KEY (job, item) REFERENCES items (job, id)
) STRICT;

-- The job that a task belongs to. Such a task is the job's alone: no list, tick or merge of the project's own sees it.
ALTER TABLE tasks ADD COLUMN job TEXT;
