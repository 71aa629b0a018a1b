"""Processes: who they are, whether they live, and programs that fleet starts."""
