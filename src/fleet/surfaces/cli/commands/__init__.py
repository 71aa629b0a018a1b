"""The commands, in folders by noun. table.py of the parent says where each is."""
