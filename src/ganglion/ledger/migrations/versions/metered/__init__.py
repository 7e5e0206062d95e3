"""Of what was held, and what it cost."""
