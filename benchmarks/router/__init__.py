"""What the way through the router costs."""
