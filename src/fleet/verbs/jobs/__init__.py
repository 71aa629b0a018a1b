"""Jobs run a workflow over many items. Each job has one runner process, which keeps all its state in the store."""
