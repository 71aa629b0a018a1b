"""Handoffs of agents to successors: asked for, written down, drained, and bounded when they bring nothing."""
