"""worktree: the git worktree of a task, and the code that only this kind needs."""
