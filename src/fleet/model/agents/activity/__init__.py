"""The activity of agents: reports of hooks, signs of life, usage limits, handoffs, and when to wake a coordinator."""
