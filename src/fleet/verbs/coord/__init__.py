"""The coordinator of a project: its seat, its ticks, and its replacement by another coordinator."""
