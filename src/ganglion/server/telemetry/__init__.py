"""What a server says of itself: metrics, and its own log."""
