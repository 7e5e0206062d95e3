"""The time ahead: reservations, promised and kept places, bookings, backfill."""
