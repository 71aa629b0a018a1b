"""The store: the only door to the database."""
