"""Questions about a past that was otherwise, and their answers."""
