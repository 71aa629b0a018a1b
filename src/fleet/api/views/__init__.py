"""The view model: what `fleet status`, the screen and a page draw. The same words and states for the same moment."""
