"""Scenarios in KAI-Scheduler's words."""
