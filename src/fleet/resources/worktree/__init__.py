"""worktree: the git worktree of a task, and what only this kind needs."""
