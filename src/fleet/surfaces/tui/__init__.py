"""The TUI: the full-screen view in the terminal. Only this package imports Textual."""
