"""Parts of `Fleet` about the home and its projects."""
