"""Parts of `Client`, each about one subject of the server's routes."""
