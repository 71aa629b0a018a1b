-- Restarts: how often fleet has started a project's own coordinator again since one ran well, so that it stops at some point.
CREATE TABLE restarts (
  project TEXT PRIMARY KEY,
  -- The dead coordinator for which another was started last.
  holder TEXT NOT NULL,
  tries INTEGER NOT NULL CHECK (tries > 0),
  at INTEGER NOT NULL
) STRICT;
