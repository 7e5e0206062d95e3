"""Prices and budgets as they are shown; money is in millionths of a unit of the currency."""
