"""The pages of the TUI, which cover the whole board: review, graph, timeline, help."""
