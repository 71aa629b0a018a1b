"""Who asks: each surface translates, nothing more."""
