"""Tasks: their steps, their graph, and their forms as text."""
