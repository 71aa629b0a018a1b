"""The commands that agents and tmux sessions call all day, run with as few imports as possible."""
