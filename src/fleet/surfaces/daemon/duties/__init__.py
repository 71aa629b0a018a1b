"""The daemon's duties: what it does regularly, without a request. Each duty has a file; `duties.py` runs them all."""
