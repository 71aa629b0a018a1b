"""git and its files. The user's own checkout is never touched."""
