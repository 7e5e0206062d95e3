"""Scenarios in Kueue's words."""
