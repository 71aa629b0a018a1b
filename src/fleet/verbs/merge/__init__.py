"""Merge a task's branch into the integration branch, and land the integration branch on the target."""
