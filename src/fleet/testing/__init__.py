"""Tools to test fleet, and what you build on it, without touching the real world."""
