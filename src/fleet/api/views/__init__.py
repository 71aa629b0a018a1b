"""The view model that `fleet status` and the TUI draw, so that both show the same words and states."""
