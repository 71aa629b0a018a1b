-- Models of tasks, and the ports of worktrees.

-- The model that a task's agents run on, as the engine calls it; missing: the engine's own.
ALTER TABLE tasks ADD COLUMN model TEXT;

-- The engine that would have come first but was held back when the agent started, and why.
ALTER TABLE dispatches ADD COLUMN instead_of TEXT;
ALTER TABLE dispatches ADD COLUMN instead_why TEXT;

-- The block of ports that a worktree has while its claim is not released.
CREATE TABLE ports (
  claim TEXT PRIMARY KEY,
  host TEXT NOT NULL,
  base INTEGER NOT NULL,
  size INTEGER NOT NULL CHECK (size > 0),
  UNIQUE (host, base)
) STRICT;
