"""Processes: identify them, prove whether they live, end them, and start programs."""
