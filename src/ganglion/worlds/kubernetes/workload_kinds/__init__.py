"""Kinds of objects that make pods, and the gangs that each of them asks for."""
