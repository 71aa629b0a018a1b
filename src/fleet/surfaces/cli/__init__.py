"""The command line: a file for each command group, and one table of commands."""
