"""Engines, the programs that agents run in: a TOML file for each, and the code that reads these files and the screens."""
