"""Files of the home and of people, temporary files, and locks."""
