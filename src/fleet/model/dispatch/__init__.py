"""The states of dispatches, claims and seats, and pure decisions about them."""
