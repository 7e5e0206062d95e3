"""Commands on a clock of their own: the demo, simulations, scenarios of a policy."""
