"""Workloads, queues, nodes and policies as the server shows them."""
