"""Attempts at running gangs: begun, seated, ready, left, recovered after a crash."""
