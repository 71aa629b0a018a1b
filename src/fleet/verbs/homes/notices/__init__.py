"""Tell a person what needs them: look, decide, send, and record what became of it."""
