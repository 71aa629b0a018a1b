"""The verbs: what fleet does, one file a verb. A verb that is one transaction returns a `Change`, which its caller commits."""
