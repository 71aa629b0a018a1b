"""The states of dispatches, claims and seats, and the pure decisions about them."""
