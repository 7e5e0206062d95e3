"""Signing in with a name and a password, where there is no identity provider."""
