"""Documents that people write, as trees, and the kinds and tables that check them.

Used by settings, engines and jobs.
"""
