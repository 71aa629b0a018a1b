"""The fleet home on disk: its paths, record, settings, trust, trash and environments."""
