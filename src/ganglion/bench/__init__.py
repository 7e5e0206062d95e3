"""Public protocols and traces replayed through the engine; each benchmark one file."""
