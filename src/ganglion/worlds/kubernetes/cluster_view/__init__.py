"""One cluster as its API server shows it, and what is ordered of it."""
