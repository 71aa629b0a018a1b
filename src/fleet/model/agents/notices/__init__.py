"""Notices: what a person is told about, when, and in which words."""
