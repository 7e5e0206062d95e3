"""Notices to people of what happens to workloads."""
