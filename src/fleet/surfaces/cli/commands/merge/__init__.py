"""fleet merge, land, merges, pr."""
