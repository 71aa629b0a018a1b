"""Tasks: their statuses, their graph of dependencies, and their forms as text."""
