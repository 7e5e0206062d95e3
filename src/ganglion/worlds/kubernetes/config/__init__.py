"""Queues and the policy of a cluster, from its `Queue` and `Policy` objects.

`read.configuration` turns the objects into what the engine takes and says of each what became
of it; `status` puts that, and what a queue uses, into the form that is written back.
"""
