"""One controller for each kind of workload, run in every turn."""
