"""One cluster as its API server shows it, and all that its controller knows."""
