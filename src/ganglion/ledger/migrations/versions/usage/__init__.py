"""Of what was held, done, drawn and lent."""
