"""Parts of `Fleet` about tasks and their work."""
