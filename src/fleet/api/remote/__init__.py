"""Use Fleet through the daemon: the same methods, performed by the daemon while it runs."""
