"""Cycles, flavors and preemption as Kueue decides them."""
