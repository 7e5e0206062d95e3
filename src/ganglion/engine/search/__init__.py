"""A place that quota and plugins agree to, or the one reason against any."""
