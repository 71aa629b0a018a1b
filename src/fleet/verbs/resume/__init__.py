"""Going on with work that ended before its time."""
