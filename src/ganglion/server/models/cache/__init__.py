"""Models on the machine of the server, fetched before the gangs that wait start."""
