"""Routes for prices and budgets."""
