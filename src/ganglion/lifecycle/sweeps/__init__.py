"""Sweeps: which trials there are, which are given up early, and how many run at once."""
