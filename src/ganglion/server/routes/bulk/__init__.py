"""Routes of verbs on many workloads."""
