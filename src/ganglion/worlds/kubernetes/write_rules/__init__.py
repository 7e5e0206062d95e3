"""What is decided before anything is written: rates, counts of events, budgets."""
