"""Questions about a past that was otherwise."""
