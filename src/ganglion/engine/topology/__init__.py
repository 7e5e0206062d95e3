"""Nodes in their states, domains above them, and what fits where."""
