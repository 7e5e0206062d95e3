"""How many replicas a service should have: a pure function of readings and the time."""
