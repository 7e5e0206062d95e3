"""Batch logs with their users' estimates: backfilling, and start bands."""
