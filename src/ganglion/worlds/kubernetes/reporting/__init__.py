"""What people read on objects: events, conditions, the status of queues and policies."""
