-- What an agent left uncommitted on purpose.

-- Why the agent that reported the task as done left changes uncommitted; missing when it left none.
ALTER TABLE tasks ADD COLUMN left_uncommitted TEXT;
