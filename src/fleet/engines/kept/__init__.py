"""The files in which engines keep conversations: find them, count the tokens used in them, and compute their cost."""
