"""Workspaces on this machine: what they keep, whether they are idle, notices to their users."""
