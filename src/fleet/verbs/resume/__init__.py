"""Resume tasks, coordinators and jobs whose agent or runner ended before the work was finished."""
