"""The daemon's duties: what it does regularly, without being asked. One file a duty; `duties.py` runs them."""
