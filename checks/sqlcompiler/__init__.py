"""Compiles the named queries of store/sql/*.sql, with the types of what they take and return, into store/queries/*.py."""
