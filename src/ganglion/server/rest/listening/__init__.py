"""Where a server listens, its connections, and who may ask."""
