"""What asks the person something, over the screen."""
