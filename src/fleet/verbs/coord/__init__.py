"""The coordinator of a project: its seat, its tick, and its change."""
