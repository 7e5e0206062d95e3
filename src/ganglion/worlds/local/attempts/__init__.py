"""Attempts from outside: starting, watching, reaching and ending them."""
