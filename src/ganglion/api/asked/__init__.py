"""What a server asks the scheduler of a cluster, and what that answers."""
