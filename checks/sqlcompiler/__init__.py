"""Compile the named queries of store/sql/**/*.sql, with the types of their parameters and rows, into store/queries/*.py."""
