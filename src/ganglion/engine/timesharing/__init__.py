"""Gangs that share time: levels of attained service, compared with first come, first served."""
