"""What agents use and cost: counted from their engines' files, summed for the views, held against budgets; and limits of accounts."""
