"""What agents say and ask, and who may do what."""
