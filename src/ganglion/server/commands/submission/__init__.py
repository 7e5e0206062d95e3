"""Workloads that are submitted, at first or again."""
