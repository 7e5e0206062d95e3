"""Queues that share one cluster: what each is owed, and gets."""
