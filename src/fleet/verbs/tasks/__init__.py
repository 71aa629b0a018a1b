"""What is done to a task: one file a verb."""
