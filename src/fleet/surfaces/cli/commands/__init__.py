"""The click commands, in folders by noun. `table.py` in the parent folder says which module each is in."""
