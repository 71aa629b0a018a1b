"""The commands that agents and tmux sessions call all day, with as few imports as possible."""
