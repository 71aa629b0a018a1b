"""Resume work that ended before it was finished."""
