"""Routes about callers: grants, tokens, and local users."""
