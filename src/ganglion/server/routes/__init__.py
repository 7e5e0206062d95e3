"""The routes of the REST application."""
