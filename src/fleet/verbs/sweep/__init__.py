"""The sweep: find and release what no dispatch, task or job needs any more."""
