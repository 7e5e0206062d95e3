"""Nodes and the pods on them, indexed by what they do to other pods."""
