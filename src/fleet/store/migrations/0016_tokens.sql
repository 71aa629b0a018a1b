-- The hash of the secret that a launch gave its agent. It counts while the dispatch is in flight, and goes with its row.
CREATE TABLE tokens (
  dispatch TEXT PRIMARY KEY REFERENCES dispatches (id) ON DELETE CASCADE,
  hash TEXT NOT NULL CHECK (length(hash) = 64)
) STRICT;

-- What an agent was started in; NULL for nothing.
ALTER TABLE dispatches ADD COLUMN sandbox TEXT;
