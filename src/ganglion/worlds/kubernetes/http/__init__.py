"""The way to a cluster's API server: configuration, requests, watches, errors."""
