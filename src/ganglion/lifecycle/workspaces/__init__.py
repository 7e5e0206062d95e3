"""Workspaces sleep while not in use: idle, busy or unknown, and never acted upon unknown."""
