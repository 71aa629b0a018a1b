-- Progress: what a handoff brought, comments that came after the verdict, and an index for messages.

-- What the work was like when it was handed off, how many handoffs in a row brought nothing up to this one, and when the task
-- was parked for it.
ALTER TABLE handoffs ADD COLUMN mark TEXT;
ALTER TABLE handoffs ADD COLUMN fruitless INTEGER;
ALTER TABLE handoffs ADD COLUMN parked_at INTEGER;
CREATE INDEX handoffs_of_task ON handoffs (project, slug, at);

-- 0: another verdict had counted before, or the reviewer was superseded; the comments are kept.
ALTER TABLE verdicts ADD COLUMN counted INTEGER NOT NULL DEFAULT 1 CHECK (counted IN (0, 1));

-- A tick asks of each agent when something was last said to it, and whether it was reminded.
CREATE INDEX messages_by_dispatch ON messages (dispatch, delivered_at);
