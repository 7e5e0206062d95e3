"""Signing in with a browser at a provider of OpenID Connect; sessions are the ledger's.

It imports `commands` and `access`, and nothing imports it but the application.
"""
