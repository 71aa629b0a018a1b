"""The screen in the terminal. Nothing but this package imports Textual."""
