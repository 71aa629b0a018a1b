"""Settings: the table of them, their text, and which of a repository's count."""
