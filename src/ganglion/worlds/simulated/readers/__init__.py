"""Readers of public trace formats: pure parsing, gzipped or not."""
