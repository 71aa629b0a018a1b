"""The commands about dispatches: run, dispatch, stop, kill, resume, dispatches, claims."""
