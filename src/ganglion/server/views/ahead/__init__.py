"""What would happen to work that is not submitted, as it is shown."""
