"""fleet home, clean, maintenance, completion, demo."""
