"""What a server knows beside the engine, and the transaction in which it changes."""
