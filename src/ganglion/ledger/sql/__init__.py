"""The database under a ledger: tables, their migration, statements, faults in plain words."""
