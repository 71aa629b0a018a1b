"""The command line: one file a command group, one table of commands."""
