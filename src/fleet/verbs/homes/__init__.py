"""The fleet home: ownership of dispatches and claims, repair after a move, lost homes, the archive of operations."""
