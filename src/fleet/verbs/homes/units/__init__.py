"""The unit by which the operating system starts a home's daemon: a systemd user unit, or a launchd agent."""
