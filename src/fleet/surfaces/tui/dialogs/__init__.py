"""The dialogs of the TUI, which ask the person something over the board."""
