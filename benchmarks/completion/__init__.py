"""Completion times and deadlines of jobs on published traces."""
