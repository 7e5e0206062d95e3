"""What is known of the past, and of what is planned."""
