"""The rules of Kubernetes as plugins of the engine."""
