"""Views: status, recap, doctor and the list of operations. They only read."""
