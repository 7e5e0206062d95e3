"""Which nodes a pod may use by the rules of Kubernetes.

Static rules (selectors, taints, volumes) depend on the node alone and are asked per node class.
Dynamic rules (ports, counted resources, other pods, spreading, attached volumes) change as pods
come and go; they bar nodes by name and are checked once more for a whole gang before it starts.
"""
