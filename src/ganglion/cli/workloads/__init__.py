"""Commands about submitted workloads: lists, explanations, changes; above `fleet`."""
