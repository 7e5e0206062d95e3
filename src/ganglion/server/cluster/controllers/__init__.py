"""What keeps the services, workspaces and sweeps of a cluster going, beside its scheduler."""
