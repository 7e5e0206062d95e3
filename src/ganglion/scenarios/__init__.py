"""Scheduling scenarios: small clusters with the outcome that is expected, run on the engine."""
