"""fleet coord, handoff, drain, rc."""
