"""How fast the portal is in a real browser, and what its readers cost a server."""
