"""Connections and requests: how the daemon takes, does and answers them."""
