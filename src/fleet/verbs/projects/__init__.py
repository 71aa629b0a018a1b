"""Projects: register and remove a repository, write its settings, trust its settings, remote control."""
