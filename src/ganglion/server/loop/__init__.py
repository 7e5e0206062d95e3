"""One thread that owns the state and takes turn after turn."""
