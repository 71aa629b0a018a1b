"""The commands that show everything: status, recap, doctor, ops, tui."""
