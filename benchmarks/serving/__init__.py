"""Replicas of services that follow the requests of a trace."""
