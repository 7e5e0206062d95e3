"""One of several schedulers decides: the one that holds the Lease."""
