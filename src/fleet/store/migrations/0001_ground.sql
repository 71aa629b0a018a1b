-- The ground: projects, tasks and their graph, operations, and the tables of dispatches and claims.
-- Times are milliseconds since 1970 in UTC. Flags are 0 or 1.
-- Written for SQLite; for PostgreSQL INTEGER becomes BIGINT, TEXT gets the collation "C", and STRICT goes.

-- PostgreSQL's writers lock this table, one at a time. SQLite's queue on a file.
CREATE TABLE writer (id INTEGER PRIMARY KEY CHECK (id = 1)) STRICT;
INSERT INTO writer (id) VALUES (1);

-- Every change has one row here. Its sequence is taken while the writer's lock is held, so a follower misses none.
CREATE TABLE operations (
  seq INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE,
  at INTEGER NOT NULL,
  actor TEXT NOT NULL,
  why TEXT NOT NULL,
  -- A fingerprint of what exactly was asked for: one key answers for one request.
  request TEXT NOT NULL,
  project TEXT,
  slug TEXT,
  dispatch TEXT,
  what TEXT NOT NULL,
  result TEXT NOT NULL
) STRICT;
CREATE INDEX operations_by_task ON operations (project, slug, seq);
CREATE INDEX operations_by_dispatch ON operations (dispatch, seq) WHERE dispatch IS NOT NULL;

-- Dispatch ids that were ever given out. Never pruned.
CREATE TABLE ids (
  id TEXT PRIMARY KEY CHECK (length(id) = 8),
  at INTEGER NOT NULL
) STRICT;

CREATE TABLE projects (
  name TEXT PRIMARY KEY,
  path TEXT NOT NULL UNIQUE,
  added_at INTEGER NOT NULL
) STRICT;

-- A project's coordinator. One row a project: a second seat cannot be.
CREATE TABLE seats (
  project TEXT PRIMARY KEY REFERENCES projects (name),
  holder TEXT,
  epoch INTEGER NOT NULL DEFAULT 0 CHECK (epoch >= 0),
  -- During a change: who is to be the next holder, and until when it has to prove itself.
  candidate TEXT,
  deadline INTEGER
) STRICT;

CREATE TABLE tasks (
  project TEXT NOT NULL REFERENCES projects (name),
  slug TEXT NOT NULL,
  title TEXT NOT NULL CHECK (title <> ''),
  description TEXT NOT NULL DEFAULT '',
  status TEXT NOT NULL DEFAULT 'open'
    CHECK (status IN ('open', 'in_progress', 'blocked', 'done', 'failed', 'abandoned')),
  stage TEXT NOT NULL DEFAULT 'worker',
  priority INTEGER NOT NULL DEFAULT 0,
  paused INTEGER NOT NULL DEFAULT 0 CHECK (paused IN (0, 1)),
  archived INTEGER NOT NULL DEFAULT 0 CHECK (archived IN (0, 1)),
  not_before INTEGER,
  verify TEXT,
  engine TEXT,
  assignee TEXT,
  attempts INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
  reason TEXT,
  -- The commit of the integration branch that merged it.
  merged TEXT,
  merged_at INTEGER,
  -- How many dependencies are neither done nor abandoned: readiness is data, `ready` never walks the graph.
  open_blockers INTEGER NOT NULL DEFAULT 0 CHECK (open_blockers >= 0),
  added_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  started_at INTEGER,
  ended_at INTEGER,
  PRIMARY KEY (project, slug),
  CHECK (status <> 'in_progress' OR assignee IS NOT NULL),
  CHECK (archived = 0 OR status IN ('done', 'failed', 'abandoned'))
) STRICT;
CREATE INDEX tasks_ready ON tasks (project, priority DESC, added_at, slug)
  WHERE status = 'open' AND open_blockers = 0 AND paused = 0;
CREATE INDEX tasks_by_status ON tasks (project, status, archived);
CREATE INDEX tasks_by_assignee ON tasks (assignee) WHERE assignee IS NOT NULL;

-- slug waits for needs.
CREATE TABLE edges (
  project TEXT NOT NULL,
  slug TEXT NOT NULL,
  needs TEXT NOT NULL,
  PRIMARY KEY (project, slug, needs),
  FOREIGN KEY (project, slug) REFERENCES tasks (project, slug),
  FOREIGN KEY (project, needs) REFERENCES tasks (project, slug),
  CHECK (slug <> needs)
) STRICT, WITHOUT ROWID;
CREATE INDEX edges_by_needs ON edges (project, needs, slug);

CREATE TABLE tags (
  project TEXT NOT NULL,
  slug TEXT NOT NULL,
  tag TEXT NOT NULL,
  PRIMARY KEY (project, slug, tag),
  FOREIGN KEY (project, slug) REFERENCES tasks (project, slug)
) STRICT, WITHOUT ROWID;
CREATE INDEX tags_by_tag ON tags (project, tag, slug);

-- A message belongs to the operation that wrote it.
CREATE TABLE task_log (
  project TEXT NOT NULL,
  slug TEXT NOT NULL,
  seq INTEGER NOT NULL,
  at INTEGER NOT NULL,
  actor TEXT NOT NULL,
  message TEXT NOT NULL,
  PRIMARY KEY (project, slug, seq),
  FOREIGN KEY (project, slug) REFERENCES tasks (project, slug)
) STRICT, WITHOUT ROWID;

CREATE TABLE artifacts (
  project TEXT NOT NULL,
  slug TEXT NOT NULL,
  path TEXT NOT NULL,
  at INTEGER NOT NULL,
  actor TEXT NOT NULL,
  PRIMARY KEY (project, slug, path),
  FOREIGN KEY (project, slug) REFERENCES tasks (project, slug)
) STRICT, WITHOUT ROWID;

CREATE TABLE dispatches (
  id TEXT PRIMARY KEY REFERENCES ids (id),
  kind TEXT NOT NULL CHECK (kind IN ('worker', 'reviewer', 'finisher', 'fix', 'rebase', 'coord')),
  project TEXT NOT NULL REFERENCES projects (name),
  slug TEXT,
  owner TEXT NOT NULL,
  host TEXT NOT NULL,
  tmux_socket TEXT NOT NULL,
  schema INTEGER NOT NULL DEFAULT 1,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  launched_at INTEGER,
  ended_at INTEGER,
  exec_state TEXT NOT NULL DEFAULT 'pending'
    CHECK (exec_state IN ('pending', 'in_flight', 'done', 'blocked', 'failed')),
  recl_state TEXT NOT NULL DEFAULT 'pending' CHECK (recl_state IN ('pending', 'complete', 'partial', 'blocked')),
  -- What the agent said of its own work; the first word counts.
  report TEXT CHECK (report IN ('done', 'failed', 'blocked')),
  report_reason TEXT,
  reported_at INTEGER,
  -- That it was asked to exit, what for, and why.
  asked_at INTEGER,
  asked_for TEXT CHECK (asked_for IN ('report', 'stop', 'kill', 'superseded', 'handoff', 'replaced')),
  asked_reason TEXT,
  blocked_reason TEXT,
  exit_status INTEGER,
  predecessor TEXT,
  engine TEXT,
  autonomy TEXT,
  model TEXT,
  command TEXT,
  base TEXT,
  -- Processes as host/boot/pid/start: who dispatches, who was launched, and tmux's server.
  spawner TEXT NOT NULL DEFAULT '',
  process TEXT,
  server TEXT,
  FOREIGN KEY (project, slug) REFERENCES tasks (project, slug),
  CHECK ((kind = 'coord') = (slug IS NULL)),
  CHECK (recl_state <> 'complete' OR exec_state IN ('done', 'blocked', 'failed'))
) STRICT;
CREATE UNIQUE INDEX dispatches_one_attempt ON dispatches (project, slug) WHERE exec_state IN ('pending', 'in_flight');
CREATE INDEX dispatches_unfinished ON dispatches (exec_state, project) WHERE exec_state IN ('pending', 'in_flight');
CREATE INDEX dispatches_unreclaimed ON dispatches (recl_state, created_at);
CREATE INDEX dispatches_by_age ON dispatches (created_at);
CREATE INDEX dispatches_by_task ON dispatches (project, slug, created_at);

-- An agent's record, archived when its dispatch ends.
CREATE TABLE agents (
  dispatch TEXT PRIMARY KEY REFERENCES ids (id),
  engine TEXT NOT NULL,
  session TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  heartbeat_at INTEGER,
  archived_at INTEGER
) STRICT;

-- Dispatches that failed before their agent was launched; too many within an hour park the task.
CREATE TABLE spawn_failures (
  project TEXT NOT NULL,
  slug TEXT NOT NULL,
  dispatch TEXT NOT NULL REFERENCES ids (id),
  at INTEGER NOT NULL,
  why TEXT NOT NULL,
  PRIMARY KEY (project, slug, dispatch)
) STRICT, WITHOUT ROWID;

-- A task's worker_dir and worktree: one owner, one generation. Outlives archiving.
CREATE TABLE bundles (
  project TEXT NOT NULL,
  slug TEXT NOT NULL,
  host TEXT NOT NULL,
  owner TEXT NOT NULL REFERENCES ids (id),
  generation INTEGER NOT NULL CHECK (generation >= 1),
  -- Whether fleet made the branch: one that was there before is the user's, and is never used.
  branch_is_ours INTEGER NOT NULL DEFAULT 0 CHECK (branch_is_ours IN (0, 1)),
  PRIMARY KEY (project, slug)
) STRICT;

CREATE TABLE adoptions (
  project TEXT NOT NULL,
  slug TEXT NOT NULL,
  generation INTEGER NOT NULL,
  dispatch TEXT NOT NULL REFERENCES ids (id),
  kind TEXT NOT NULL,
  adopted_at INTEGER NOT NULL,
  released_at INTEGER,
  PRIMARY KEY (project, slug, generation)
) STRICT, WITHOUT ROWID;

CREATE TABLE claims (
  id TEXT PRIMARY KEY,
  dispatch TEXT REFERENCES dispatches (id),
  project TEXT,
  slug TEXT,
  host TEXT NOT NULL,
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
  -- It belongs to a dispatch, or to a task's bundle.
  CHECK ((dispatch IS NULL) = (slug IS NOT NULL))
) STRICT;
CREATE UNIQUE INDEX claims_one_holder ON claims (host, kind, name)
  WHERE state IN ('allocating', 'live', 'releasing', 'releasing_blocked');
CREATE INDEX claims_by_dispatch ON claims (dispatch) WHERE dispatch IS NOT NULL;
CREATE INDEX claims_by_bundle ON claims (project, slug) WHERE slug IS NOT NULL;
