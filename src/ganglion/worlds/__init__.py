"""Worlds carry plans out and report what happened."""
