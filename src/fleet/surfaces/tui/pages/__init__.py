"""Whole pages over the screen: review, graph, timeline, help."""
