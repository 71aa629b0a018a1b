"""Notices: find what needs a person, send messages about it, and record how each was delivered."""
