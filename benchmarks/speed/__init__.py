"""How fast the engine decides, and the lists of a server with many jobs."""
