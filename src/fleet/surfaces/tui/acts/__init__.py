"""The acts behind the keys. Each says when it applies, and calls the same method of `Fleet` as the command line."""
