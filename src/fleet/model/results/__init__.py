"""What the methods of `Fleet` return, and `--json` prints; docs/reference/json.md is made of these classes."""
