"""Parts of `Fleet` about agents: workers, coordinators, jobs, and what they hold."""
