"""Jobs: the document of a workflow, and the items."""
