"""Parse documents that people write (settings, engines, jobs) into trees, and check them with kinds and tables."""
