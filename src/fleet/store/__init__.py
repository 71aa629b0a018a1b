"""What is known: the only door to the database."""
