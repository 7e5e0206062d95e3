"""Rules among pods: affinity, spreading, and the same within a gang."""
