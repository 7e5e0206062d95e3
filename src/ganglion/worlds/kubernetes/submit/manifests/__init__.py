"""A workload as Kubernetes objects: pods, what makes them, what they need beside."""
