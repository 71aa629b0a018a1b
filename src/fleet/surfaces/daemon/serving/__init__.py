"""How the daemon accepts connections, reads requests, performs them and sends the answers."""
