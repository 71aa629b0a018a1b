"""Verbs about running agents: their hooks, questions, messages, screens and prompt files, and what they cost."""
