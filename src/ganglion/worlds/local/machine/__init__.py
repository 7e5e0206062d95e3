"""What this machine has: processes, files, GPUs, ports. All other modules ask these."""
