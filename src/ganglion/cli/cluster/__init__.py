"""Commands on a Kubernetes cluster: the calls of the client, answered by the API server."""
