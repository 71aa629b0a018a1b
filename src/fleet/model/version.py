"""Which fleet this is."""

VERSION = "0.1.0"
