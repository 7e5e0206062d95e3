"""Why a gang waits, what would start it, and what the fleet has left."""
