"""The audit trail: what proves to others that a ledger is complete and as it was written.

A Merkle tree over all events, checkpoints of it that are signed, and files that verify offline.
It may import model and ledger. What computes (`merkle`, `notes`) does no I/O.
"""
