"""TLS of what listens: certificates that are read again when they change, handshakes in time."""
