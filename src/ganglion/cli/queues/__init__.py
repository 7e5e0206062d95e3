"""Commands about queues and policies; above `connection`."""
