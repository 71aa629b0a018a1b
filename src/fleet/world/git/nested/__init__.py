"""Repositories inside a worktree: submodules, and clones that somebody made there."""
