"""One attempt at a task, from the plan to the release of everything it held."""
