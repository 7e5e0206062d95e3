"""From the ledger to what the server keeps in memory, and back; checkpoints and copies."""
