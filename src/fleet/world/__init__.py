"""The world outside the database: the only door to processes, files, git, tmux, clocks, randomness and locks."""
