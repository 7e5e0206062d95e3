"""What it costs to stop running work for urgent work."""
