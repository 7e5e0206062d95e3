"""Points in time, lengths of time, working hours and schedules."""
