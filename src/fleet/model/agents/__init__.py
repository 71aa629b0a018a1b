"""Agents as values: what they report and ask, their budgets and roles, and what a person is notified about."""
