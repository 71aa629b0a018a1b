"""Fleet through the daemon: the same methods, done by the daemon while it runs."""
