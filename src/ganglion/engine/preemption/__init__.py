"""Whom to stop, at what cost, and where to start in their place."""
