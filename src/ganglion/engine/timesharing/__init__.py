"""Gangs that share time: levels of attained service, and who is late by first come, first served."""
