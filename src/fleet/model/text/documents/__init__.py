"""Documents that people write, as trees, and the kinds and tables that check them: for settings, engines and jobs."""
