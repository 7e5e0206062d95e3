"""Schedulers side by side on one real API server."""
