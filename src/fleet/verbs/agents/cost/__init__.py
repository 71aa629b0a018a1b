"""What agents use and cost: counted from their engines' files, summed for the views, and held against budgets."""
