"""The worktrees of a repository: what git knows of them and what is in them; add, fill and remove those of fleet."""
