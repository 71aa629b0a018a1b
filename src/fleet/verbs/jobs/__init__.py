"""Jobs run a workflow over many items. Each job has one runner process; all that the runner knows is in the store."""
