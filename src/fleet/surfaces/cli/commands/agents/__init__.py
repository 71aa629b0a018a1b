"""The commands about agents: ps, attach, peek, logs, message, questions, hooks, limits, engine."""
