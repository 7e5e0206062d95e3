"""A finished run for people and programs: table, JSON and one HTML page."""
