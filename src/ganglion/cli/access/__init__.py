"""Commands for roles, personal tokens, and who may do what."""
