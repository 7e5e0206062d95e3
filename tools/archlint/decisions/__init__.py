"""What decides is pure, in one order, and by data."""
