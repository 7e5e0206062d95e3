"""Idle notebooks and idle nodes: what can be given back."""
