"""Files of the home and of people, temporary files, logs, sockets and locks."""
