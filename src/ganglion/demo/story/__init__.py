"""Who submits what to which queues, what is shown of it, and what must have happened at the end."""
