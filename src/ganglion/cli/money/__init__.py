"""Commands for money: prices, budgets."""
