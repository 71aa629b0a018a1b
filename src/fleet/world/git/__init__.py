"""Run git and read its files. The user's own checkout is never changed, except by `fleet land`."""
