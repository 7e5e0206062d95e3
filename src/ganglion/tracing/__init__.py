"""Spans of requests, commits and cycles, sent to a collector where one is configured.

Nothing but the standard library is imported, and without an endpoint nothing is measured.
"""
