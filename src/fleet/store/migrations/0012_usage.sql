-- What agents used of their models, what it cost, and what a person has allowed beyond the budgets.

-- The tokens of a dispatch by model and day (of this machine's time zone). Outlives archiving.
CREATE TABLE usage (
  -- The dispatch, or the job whose runner itself started the step.
  dispatch TEXT NOT NULL,
  model TEXT NOT NULL,
  day TEXT NOT NULL,
  project TEXT NOT NULL,
  slug TEXT,
  input INTEGER NOT NULL DEFAULT 0,
  output INTEGER NOT NULL DEFAULT 0,
  cache_read INTEGER NOT NULL DEFAULT 0,
  cache_write INTEGER NOT NULL DEFAULT 0,
  -- In millionths of a dollar, by the list of prices; and the tokens of models that the list does not have.
  cost INTEGER NOT NULL DEFAULT 0,
  unpriced INTEGER NOT NULL DEFAULT 0,
  at INTEGER NOT NULL,
  PRIMARY KEY (dispatch, model, day)
) STRICT;
CREATE INDEX usage_by_task ON usage (project, slug);
CREATE INDEX usage_by_day ON usage (day);

-- How far the files of conversations were read, and what was counted of the last record in them.
CREATE TABLE usage_files (
  path TEXT PRIMARY KEY,
  position INTEGER NOT NULL,
  model TEXT NOT NULL DEFAULT '',
  record TEXT NOT NULL DEFAULT '',
  input INTEGER NOT NULL DEFAULT 0,
  output INTEGER NOT NULL DEFAULT 0,
  cache_read INTEGER NOT NULL DEFAULT 0,
  cache_write INTEGER NOT NULL DEFAULT 0,
  at INTEGER NOT NULL
) STRICT;

-- What a person has allowed beyond a budget, in millionths of a dollar: of a task (project/slug), a project, or a day.
CREATE TABLE allowances (
  scope TEXT NOT NULL CHECK (scope IN ('task', 'project', 'day')),
  name TEXT NOT NULL,
  cost INTEGER NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (scope, name)
) STRICT;
