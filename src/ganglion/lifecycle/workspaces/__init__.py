"""Workspaces sleep while nobody uses them: idle, busy or unknown, and never acted upon unknown."""
