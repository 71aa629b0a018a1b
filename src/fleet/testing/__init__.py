"""Tools to test fleet and what you build on it: scenes, a simulated world, scripted agents, and a crash harness."""
