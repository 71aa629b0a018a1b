"""Notices: what a person is notified about, when, and in which words."""
