-- Wakes: what an agent that coordinates was told last, so that it is woken for news and only once for each thing.
CREATE TABLE wakes (
  project TEXT PRIMARY KEY,
  -- The coordinator that was told, by its own tick or by being woken.
  dispatch TEXT NOT NULL,
  -- The things to do that it knows of, as a JSON list of their keys.
  told TEXT NOT NULL DEFAULT '[]',
  at INTEGER NOT NULL,
  -- The message that woke it last; missing after a tick.
  message TEXT,
  -- What the process that wakes it could not do; missing when all is well.
  trouble TEXT
) STRICT;
