"""The views of a scheduler of clusters, and the controllers beside it."""
