"""Ganglion: an automated container scheduler for AI."""

__version__ = "0.1.0"
