"""Signing of the ledger while the server runs."""
