"""Jobs: the keys of a job's document, its workflow, its placeholders, and its items."""
