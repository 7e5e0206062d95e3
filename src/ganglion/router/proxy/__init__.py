"""Requests and WebSockets from callers to replicas and back."""
