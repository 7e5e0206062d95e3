"""Who goes next, and everything that is tried for it."""
