"""One item of a job, from its input to its merge."""
