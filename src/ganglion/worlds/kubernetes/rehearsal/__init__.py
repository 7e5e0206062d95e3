"""What would happen to objects that a cluster does not have: nothing of the scheduler changes."""
