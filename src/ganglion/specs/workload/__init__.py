"""Workload files: what they may say, checked, and turned into workloads."""
