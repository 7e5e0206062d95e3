"""Logs and events of workloads: printed, followed, waited for; above `connection`."""
