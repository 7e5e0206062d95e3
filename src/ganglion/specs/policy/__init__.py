"""Policy files: knobs over presets, queues, bookings."""
