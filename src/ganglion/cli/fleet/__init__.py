"""Commands about nodes: lists, bookings, cordons, drains; above `connection`."""
