"""The commands about merging: merge, merges, land, pr."""
