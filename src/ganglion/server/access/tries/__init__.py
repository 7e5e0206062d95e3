"""How often callers may try: passwords, tokens, one-time codes, what is costly."""
