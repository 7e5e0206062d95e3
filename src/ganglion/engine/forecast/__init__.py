"""When waiting gangs are expected to start."""
