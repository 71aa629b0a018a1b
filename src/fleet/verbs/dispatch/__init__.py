"""A dispatch (one attempt of an agent at a task), from the plan to the release of everything the attempt held."""
