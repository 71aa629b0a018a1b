"""Merge tasks' branches into the integration branch, land that branch on the target, or use pull requests instead."""
