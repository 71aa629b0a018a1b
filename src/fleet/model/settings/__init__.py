"""Settings: the table of all settings, the text of settings files, and which settings of a repository are trusted."""
