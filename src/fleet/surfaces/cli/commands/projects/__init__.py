"""The commands about projects: up, down, init, project, config, trust."""
