"""fleet up, init, project, config, trust."""
