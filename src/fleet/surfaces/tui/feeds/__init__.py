"""The threads that fetch what the TUI draws, and that run its acts.

Each has its own `Fleet`; drawing never waits for them.
"""
