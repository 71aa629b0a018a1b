"""The fleet home: whose things are, repair after a move, homes that are gone, and the archive of operations."""
