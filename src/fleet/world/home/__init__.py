"""The fleet home on disk."""
