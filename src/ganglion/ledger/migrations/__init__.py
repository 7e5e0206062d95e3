"""Schema migrations, run when a ledger is opened."""
