"""How long gangs run: learnt from those that have ended, expected of those that run."""
