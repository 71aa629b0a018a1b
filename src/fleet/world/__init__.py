"""The outside: the only door to processes, files, git, clocks, randomness and locks."""
