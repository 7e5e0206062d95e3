"""Models that workloads refer to."""
