"""What is known of one gang, and what waits: classes of equals, gates, minima, prices."""
