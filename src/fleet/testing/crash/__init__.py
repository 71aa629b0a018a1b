"""The crash harness and its scenarios."""
