"""The values that methods of `Fleet` return and `--json` prints. docs/reference/json.md is generated from them."""
