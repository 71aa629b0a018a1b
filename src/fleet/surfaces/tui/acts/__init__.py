"""What the keys do. Each act says when it applies, and calls the same method of `Fleet` as the command line."""
