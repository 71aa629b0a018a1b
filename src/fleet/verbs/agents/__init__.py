"""Verbs about running agents: hooks, questions, messages, screens, prompts, and limits of their engines."""
