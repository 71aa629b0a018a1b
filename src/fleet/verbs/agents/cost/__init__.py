"""Count the tokens and dollars that agents use, compare them with budgets, and hold back engines whose account has a limit."""
