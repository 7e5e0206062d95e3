"""Cluster files: pools of nodes and their topology."""
