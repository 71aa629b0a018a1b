"""Projects: register and remove a repository, write and trust its settings, set its remote control, stop its agents."""
