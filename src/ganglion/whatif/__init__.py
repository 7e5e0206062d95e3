"""What would have happened: the past of a ledger, replayed as it was and with something changed."""
