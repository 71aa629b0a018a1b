"""Parts of `Fleet` about agents: those that work on tasks, coordinate a project or run a job."""
