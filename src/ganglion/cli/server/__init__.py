"""Commands that start, stop and examine the server, a scheduler and the ledger."""
