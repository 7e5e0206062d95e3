"""Behaviour above the engine: workloads into gangs, their states, retries."""
