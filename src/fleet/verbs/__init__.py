"""What happens: one file a verb. A verb that is one transaction returns a `Change`; who commits it is not its concern."""
