"""Projects: registering a repository, its settings, and what of them is trusted."""
