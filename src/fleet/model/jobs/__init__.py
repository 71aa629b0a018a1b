"""Jobs: the keys and the workflow of a job's document, its placeholders, and the items."""
