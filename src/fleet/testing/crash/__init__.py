"""The crash harness, and what it plays."""
