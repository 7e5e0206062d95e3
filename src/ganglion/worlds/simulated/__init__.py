"""The simulated world: virtual time, traces and faults around the one engine."""
