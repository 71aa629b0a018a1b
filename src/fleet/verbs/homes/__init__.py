"""The fleet home: which home owns a dispatch, repair after a move, sandboxes, notices, metrics, and the operation archive."""
