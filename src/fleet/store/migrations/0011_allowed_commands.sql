-- Allowed commands: what an agent asks to run in a shell, as it would run it; NULL for another tool and in older rows.
ALTER TABLE questions ADD COLUMN runs TEXT;
