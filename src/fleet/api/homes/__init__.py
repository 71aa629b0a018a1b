"""Parts of `Fleet` about the home, its projects and its settings."""
