"""The verbs about tasks, one file for each: add, edit, claim, report, review, show and others."""
