-- Coordination: what agents tell of themselves, messages, questions, handoffs, the change of coordinators, reviews, and limits.

-- What an agent's hooks say of it, with the time they carry: they may arrive out of order.
ALTER TABLE agents ADD COLUMN state TEXT;
ALTER TABLE agents ADD COLUMN state_at INTEGER;
ALTER TABLE agents ADD COLUMN detail TEXT;
-- Context in percent of the window, tokens in it, and the cost so far in millionths of a dollar.
ALTER TABLE agents ADD COLUMN context INTEGER;
ALTER TABLE agents ADD COLUMN tokens INTEGER;
ALTER TABLE agents ADD COLUMN cost INTEGER;
-- The engine's own name of the conversation, to resume it.
ALTER TABLE agents ADD COLUMN conversation TEXT;
ALTER TABLE agents ADD COLUMN compacting INTEGER NOT NULL DEFAULT 0 CHECK (compacting IN (0, 1));
-- How often a turn without a report was sent back, and how many turns failed in a row.
ALTER TABLE agents ADD COLUMN sent_back INTEGER NOT NULL DEFAULT 0;
ALTER TABLE agents ADD COLUMN failed_turns INTEGER NOT NULL DEFAULT 0;

-- How many handoffs led to this dispatch.
ALTER TABLE dispatches ADD COLUMN handoffs INTEGER NOT NULL DEFAULT 0;
-- A resume: whether it goes on in the conversation of its predecessor, or starts again where that one stopped.
ALTER TABLE dispatches ADD COLUMN resumes TEXT CHECK (resumes IN ('conversation', 'again'));

-- How often a task was sent back to be mended, and where its pull request is.
ALTER TABLE tasks ADD COLUMN fixes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tasks ADD COLUMN pull_request TEXT;

-- Remote control of the coordinator: up, down, or never said.
ALTER TABLE projects ADD COLUMN remote_control TEXT CHECK (remote_control IN ('up', 'down'));

-- One-time proofs of new coordinators; only their hashes are kept. Unspent ones are evidence, and never deleted.
CREATE TABLE nonces (
  dispatch TEXT PRIMARY KEY REFERENCES ids (id),
  project TEXT NOT NULL,
  hash TEXT NOT NULL,
  minted_at INTEGER NOT NULL,
  spent_at INTEGER
) STRICT;

-- What is to be told to an agent: kept until acknowledged, applied once by its id. A resume prompt is one of them.
CREATE TABLE messages (
  id TEXT PRIMARY KEY CHECK (length(id) = 8),
  dispatch TEXT NOT NULL REFERENCES ids (id),
  kind TEXT NOT NULL CHECK (kind IN ('message', 'resume', 'reminder')),
  sender TEXT NOT NULL,
  text TEXT NOT NULL CHECK (text <> ''),
  sent_at INTEGER NOT NULL,
  delivered_at INTEGER,
  how TEXT,
  acknowledged_at INTEGER
) STRICT;
CREATE INDEX messages_waiting ON messages (dispatch, sent_at) WHERE acknowledged_at IS NULL;
CREATE INDEX messages_by_age ON messages (acknowledged_at);

-- What an agent asks a person. The first answer counts.
CREATE TABLE questions (
  id TEXT PRIMARY KEY CHECK (length(id) = 8),
  dispatch TEXT NOT NULL REFERENCES ids (id),
  kind TEXT NOT NULL CHECK (kind IN ('permission', 'question')),
  text TEXT NOT NULL,
  command TEXT,
  -- A JSON list of what can be chosen.
  choices TEXT NOT NULL DEFAULT '[]',
  asked_at INTEGER NOT NULL,
  answer TEXT,
  answered_by TEXT,
  answered_at INTEGER,
  -- When the agent got the answer, or was seen to need it no longer.
  closed_at INTEGER
) STRICT;
CREATE INDEX questions_open ON questions (dispatch, asked_at) WHERE closed_at IS NULL;

-- Handoffs: the document is in a file; the entry stays until its successor works.
CREATE TABLE handoffs (
  id TEXT PRIMARY KEY CHECK (length(id) = 8),
  dispatch TEXT NOT NULL REFERENCES ids (id),
  project TEXT NOT NULL,
  slug TEXT,
  reason TEXT NOT NULL,
  document TEXT NOT NULL,
  asked_by TEXT NOT NULL,
  at INTEGER NOT NULL,
  state TEXT NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'done', 'dropped')),
  -- Why it was put off the last time, and how many successors were started for it.
  deferred TEXT,
  tries INTEGER NOT NULL DEFAULT 0,
  successor TEXT,
  done_at INTEGER
) STRICT;
CREATE UNIQUE INDEX handoffs_one_queued ON handoffs (dispatch) WHERE state = 'queued';
CREATE INDEX handoffs_queued ON handoffs (project, at) WHERE state = 'queued';

-- What a reviewer said of a task's work.
CREATE TABLE verdicts (
  project TEXT NOT NULL,
  slug TEXT NOT NULL,
  seq INTEGER NOT NULL,
  at INTEGER NOT NULL,
  actor TEXT NOT NULL,
  verdict TEXT NOT NULL CHECK (verdict IN ('accept', 'send back')),
  comments TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (project, slug, seq),
  FOREIGN KEY (project, slug) REFERENCES tasks (project, slug)
) STRICT, WITHOUT ROWID;

-- Engines that are held back for the whole fleet: a limit until its reset, or a login until a person mends it.
CREATE TABLE holds (
  engine TEXT PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('limit', 'login')),
  reason TEXT NOT NULL,
  since INTEGER NOT NULL,
  until INTEGER,
  -- The one dispatch that may try after the reset, and since when it does.
  trial TEXT,
  tried_at INTEGER
) STRICT;

-- How much of an engine's windows is used, as its agents told it last.
CREATE TABLE quotas (
  engine TEXT NOT NULL,
  span TEXT NOT NULL,
  percent INTEGER NOT NULL,
  resets_at INTEGER,
  at INTEGER NOT NULL,
  PRIMARY KEY (engine, span)
) STRICT, WITHOUT ROWID;
