"""fleet status, recap, doctor, ops."""
