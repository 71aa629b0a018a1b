"""One item of a job: its input, its attempts and steps, its merge, and the dead-letter queue."""
