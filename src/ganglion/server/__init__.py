"""REST and event stream over one service that owns the state."""
