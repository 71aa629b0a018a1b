"""fleet job."""
