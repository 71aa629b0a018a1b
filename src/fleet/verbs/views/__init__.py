"""What people look at. Reads only."""
