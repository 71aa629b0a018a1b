"""fleet ps, attach, message, questions, hooks, engine."""
