"""The commands about the home: home, daemon, clean, maintenance, notify, completion, demo."""
