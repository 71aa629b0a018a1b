"""fleet task, add, review."""
