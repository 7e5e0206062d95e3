"""Routes about nodes: bookings, drains, present use."""
