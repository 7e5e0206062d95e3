"""Commands in running pods: a shell, files, ports, their use of GPUs; above `logs`."""
