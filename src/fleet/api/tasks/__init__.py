"""Parts of `Fleet` about tasks: their graph, reviews and merges."""
