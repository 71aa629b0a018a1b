"""The daemon: one process a home that makes everybody's changes, and looks after agents while nobody watches."""
