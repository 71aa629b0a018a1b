"""The verbs of tasks, one file for each: add, edit, claim, report, review, show and others."""
