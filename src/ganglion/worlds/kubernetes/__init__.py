"""Real clusters, through their API server."""
