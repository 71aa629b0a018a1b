"""What is heard and seen of agents, and what follows from it."""
