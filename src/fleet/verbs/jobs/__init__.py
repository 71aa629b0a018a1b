"""Jobs: a workflow mapped over many items. One runner a job; everything it knows is in the store."""
