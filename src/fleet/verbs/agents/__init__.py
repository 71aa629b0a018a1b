"""Agents at work: hooks, questions, messages, screens, and limits of their engines."""
