"""What a fresh checkout needs before its first test."""
