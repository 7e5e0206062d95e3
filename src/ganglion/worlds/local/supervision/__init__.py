"""Parts of an attempt's supervisor: processes, terminals, callers. Standard library only."""
