"""From a task's branch to the integration branch and on to the target."""
