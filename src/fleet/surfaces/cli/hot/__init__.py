"""The commands that agents and sessions call all day, with as few imports as can be."""
