"""The tree in which work is merged and verified: bare and thrown away, or prepared like an agent's and kept warm."""
