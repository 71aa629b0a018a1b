"""The daemon: one process for each home that writes for everybody, and looks after agents while nobody watches."""
