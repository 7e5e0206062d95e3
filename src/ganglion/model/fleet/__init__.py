"""Nodes, the levels of their topology, bookings of them, and what they have in numbers."""
