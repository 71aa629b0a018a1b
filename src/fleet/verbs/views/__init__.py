"""Views that only read: status, recap, doctor, claims, obstacles, next steps and the list of operations."""
