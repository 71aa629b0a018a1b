"""fleet run, dispatch, stop, kill, resume, dispatches, claims."""
