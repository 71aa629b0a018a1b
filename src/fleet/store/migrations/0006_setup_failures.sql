-- Why the last setup of a worktree of the project failed; NULL when it succeeded.
ALTER TABLE projects ADD COLUMN setup_failure TEXT;
ALTER TABLE projects ADD COLUMN setup_dispatch TEXT;
ALTER TABLE projects ADD COLUMN setup_failed_at INTEGER;
