"""Find the places that read or set a state themselves. `checks/decisions.py` is the command."""
