"""Tests of the root helper of shared hosts."""
