"""Rules that combine several values: access, priority classes, kinds, scaling."""
